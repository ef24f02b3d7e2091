//! `ttftrace`.

fn main() -> std::process::ExitCode {
    ttftrace::cli::main()
}
