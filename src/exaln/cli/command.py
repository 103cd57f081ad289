"""How commands of exaln read their arguments: long options, BLAST's single-dash names, and options with many values.

Every option has one long name, which the help shows. `Option(blast=("-num_threads",))` gives it names of BLAST+ as
well: they are replaced by the long name before click sees them, so that a word of several letters after one dash is
never taken for several options of one letter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import click
import rich_click

from exaln.cli.blast_names import NOT_OFFERED
from exaln.cli.messages import Messages

PATH_METAVARS = {"FILE", "DB", "DIR", "FIRST", "SECOND", "PART"}
"""Parameters whose value is a path are shown as one of these in the help."""

NUMBER = re.compile(r"-\.?\d.*")


class Option(click.Option):
    """An option with names of BLAST+ (`blast`), or one that takes all words up to the next option (`many`)."""

    def __init__(self, *args: Any, blast: Sequence[str] = (), many: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "multiple": many})
        self.blast = tuple(blast)
        self.many = many


class Command(rich_click.RichCommand):
    """A command with --quiet, --verbose and --debug, and an example and BLAST's names at the end of its help."""

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(_common_options())
        names = [name for option in self._options() for name in option.blast]
        paragraphs = [f"Example: {example}"] if example else []
        paragraphs += [f"BLAST's names work too: {' '.join(names)}"] if names else []
        self.epilog = "\n\n".join(paragraphs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let click parse the arguments with long names only."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        rest = super().parse_args(ctx, self._with_long_names(ctx, args))
        for parameter in self.get_params(ctx):
            if is_path(parameter):
                _require_paths(parameter, ctx.params.get(str(parameter.name)))
        return rest

    def _options(self) -> list[Option]:
        return [parameter for parameter in self.params if isinstance(parameter, Option)]

    def _with_long_names(self, ctx: click.Context, args: Sequence[str]) -> list[str]:
        options = {
            name: param for param in self.get_params(ctx) if isinstance(param, click.Option) for name in param.opts
        }
        for option in self._options():
            options |= {name: option for short in option.blast for name in (short, f"-{short}") if name not in options}
        n_missing = sum(isinstance(param, click.Argument) for param in self.get_params(ctx))
        result: list[str] = []
        repeated: list[str] = []  # the option that further words belong to
        taken: list[int] = []  # where in the result further words got that option
        words = iter(args)
        for word in words:
            if word == "--":
                result += [word, *words]
            elif word == "-" or not word.startswith("-") or NUMBER.fullmatch(word):
                taken += [len(result)] if repeated else []
                n_missing -= not repeated
                result += [*repeated, word]
            else:
                name, has_value, value = word.partition("=")
                named = options.get(name)
                if named is None:
                    raise click.UsageError(_explain_unknown(name, list(options)), ctx)
                result.append(named.opts[0] + has_value + value)
                if not has_value and not named.is_flag:
                    result += _value_of(named, words, options, ctx)
                repeated = [named.opts[0]] if isinstance(named, Option) and named.many else []
        for place in reversed(taken[-n_missing:] if n_missing > 0 else []):  # `--outfmt 6 std A B`: A and B are files
            del result[place]
        return result


class Group(rich_click.RichGroup):
    """The main command; its commands are `Command`s, in the order in which they were added."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the file, not of the alphabet."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion where there is no such command."""
        name = args[0]
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            similar = get_close_matches(name, list(self.commands), 1)
            hint = f"; did you mean {similar[0]!r}?" if similar else f"; there are {', '.join(self.commands)}"
            raise click.UsageError(f"no such command: {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)


def is_path(parameter: click.Parameter) -> bool:
    """Whether a parameter is the path of something, or several: its metavar says so."""
    return (parameter.metavar or "").removesuffix("...") in PATH_METAVARS


def _require_paths(parameter: click.Parameter, value: object) -> None:
    """InputError, with the name of the option, for what can be no path."""
    from exaln.paths import checked_path

    name = parameter.opts[0] if isinstance(parameter, click.Option) else str(parameter.metavar).removesuffix("...")
    for path in value if isinstance(value, tuple) else (value,):
        if isinstance(path, str):
            checked_path(path, name)


def _value_of(option: click.Option, words: Any, options: dict[str, click.Option], ctx: click.Context) -> list[str]:
    """The next word, if it is there and is not another option."""
    for word in words:
        if word in options:
            raise click.UsageError(f"option '{option.opts[0]}' needs a value, but '{word}' follows", ctx)
        return [str(word)]
    return []


def _explain_unknown(name: str, known: Sequence[str]) -> str:
    blast_name = "-" + name.lstrip("-").replace("-", "_")
    if blast_name in NOT_OFFERED:
        return f"no such option: {name}; {NOT_OFFERED[blast_name]}"
    similar = get_close_matches("--" + name.lstrip("-").replace("_", "-"), known, 1, 0.7)
    return f"no such option: {name}" + (f"; did you mean {similar[0]}?" if similar else "")


def _common_options() -> list[click.Parameter]:
    def set_attribute(name: str) -> Any:
        def callback(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
            if value:
                setattr(ctx.ensure_object(Messages), name, True)

        return callback

    texts = {
        "quiet": "Print nothing but warnings and errors.",
        "verbose": "Say what is done.",
        "debug": "Show the traceback of an error.",
    }
    return [
        click.Option([f"--{name}"], is_flag=True, expose_value=False, callback=set_attribute(name), help=text)
        for name, text in texts.items()
    ]
