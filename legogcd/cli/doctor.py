"""What this machine has, and what it lacks."""

import typer


def doctor() -> None:
    """Say what is installed here, what computes, what is kept, whether the hub can be reached, and what to install."""
    from legogcd.run.health import look

    for heading, lines in look().items():
        typer.echo(heading)
        for line in lines:
            typer.echo(f"  {line}")
