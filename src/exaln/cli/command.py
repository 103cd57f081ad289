"""The classes of commands and options: long names, BLAST's single-dash names, and options with many values.

Every option has one long name, which the help shows. `Option(blast=("-num_threads",))` gives it BLAST+ names as well.
They are replaced by the long name before click sees them, because click would take `-num_threads` for several options
of one letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import click

from exaln import __version__
from exaln.cli.blast_names import PROGRAMS, blast_option, blast_spelling
from exaln.cli.files import require_distinct_files
from exaln.cli.messages import Messages
from exaln.cli.panels import option_groups

PATH_METAVARS = {"FILE", "DB", "DIR", "FIRST", "SECOND", "PART"}
"""The help shows a parameter whose value is a path as one of these."""

NUMBER = re.compile(r"-\.?\d.*")
BLAST_KIND = "exaln.blast_kind"
"""Key in `Context.meta` for a BLAST option as it was given and the kind of sequences that it is for."""


class Option(click.Option):
    """An option of a command.

    blast: its BLAST+ names. old: its names in earlier versions, which still work but are not in the help. many: it
    takes all words up to the next option. reads, writes: its value names files that the command reads or writes; see
    `exaln.cli.files`.
    """

    def __init__(
        self,
        *args: Any,
        blast: Sequence[str] = (),
        old: Sequence[str] = (),
        many: bool = False,
        reads: bool = False,
        writes: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **{"multiple": many, **kwargs})
        self.blast, self.old = tuple(blast), tuple(old)
        self.many, self.reads, self.writes = many, reads, writes


class FileArgument(click.Argument):
    """An argument that names files to read."""

    reads, writes = True, False


class Command(click.Command):
    """A command with --quiet, --verbose and --debug; its help ends with an example and the BLAST names."""

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(_common_options())
        names = [name for option in self._options() if not option.hidden for name in option.blast]
        paragraphs = [f"Example: {example}"] if example else []
        paragraphs += [f"BLAST's names work too: {' '.join(names)}"] if names else []
        self.epilog = "\n\n".join(paragraphs)

    def get_help(self, ctx: click.Context) -> str:
        """The help, with its options in panels."""
        from exaln.cli.rich_help import rich_help

        return rich_help(self, ctx, option_groups(name for one in self.params for name in (*one.opts, "--help")))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Replace all names by long ones, let click parse the arguments, and check the paths."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        rest = super().parse_args(ctx, self._with_long_names(ctx, args))
        for parameter in self.get_params(ctx):
            if is_path(parameter):
                _require_paths(parameter, ctx.params.get(str(parameter.name)))
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; InputError if it would write over a file that it reads."""
        named = [(param, ctx.params.get(param.name or "")) for param in self.params]
        require_distinct_files(
            reads=[value for param, value in named if getattr(param, "reads", False)],
            writes=[(param.opts[0], value) for param, value in named if getattr(param, "writes", False)],
        )
        return super().invoke(ctx)

    def _options(self) -> list[Option]:
        return [parameter for parameter in self.params if isinstance(parameter, Option)]

    def _with_long_names(self, ctx: click.Context, args: Sequence[str]) -> list[str]:
        """The arguments with long names only, and with the name repeated before each value of a `many` option."""
        options = {
            name: param for param in self.get_params(ctx) if isinstance(param, click.Option) for name in param.opts
        }
        for option in self._options():
            names = [name for short in option.blast for name in (short, f"-{short}")] + list(option.old)
            options |= {name: option for name in names if name not in options}
        options |= {"-help": options["--help"]} if "--help" in options else {}
        n_missing = sum(isinstance(param, click.Argument) for param in self.get_params(ctx))
        result: list[str] = []
        repeated: list[str] = []  # the `many` option that further words belong to
        taken: list[int] = []  # where in the result its name was repeated
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
                    _accept_neutral(ctx, name, value if has_value else None, words, options)
                    repeated = []
                    continue
                result.append(named.opts[0] + has_value + value)
                if not has_value and not named.is_flag:
                    result += _value_of(named, words, options, ctx)
                repeated = [named.opts[0]] if isinstance(named, Option) and named.many else []
        for place in reversed(taken[-n_missing:] if n_missing > 0 else []):  # `--outfmt 6 std A B`: A and B are files
            del result[place]
        return result


class Group(click.Group):
    """The main command; its commands are `Command`s, in the order in which they were added, then those of plug-ins."""

    command_class = Command

    def get_help(self, ctx: click.Context) -> str:
        """The help, with all commands."""
        from exaln.cli.rich_help import rich_help

        return rich_help(self, ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, in the order of the help."""
        from exaln.cli.plugins import plugin_names

        return [*self.commands, *(name for name in plugin_names() if name not in self.commands)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name; those of plug-ins are looked up last."""
        known = super().get_command(ctx, cmd_name)
        if known is not None:
            return known
        from exaln.cli.plugins import plugin_command

        return plugin_command(cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let click parse the arguments; BLAST's -help and -version are words of one dash."""
        if args and args[0] in ("-help", "-version"):
            args = [f"-{args[0]}", *args[1:]]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion where there is no such command."""
        name = args[0]
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            if name.lower() in PROGRAMS:
                raise click.UsageError(f"no such command: {name!r}; {PROGRAMS[name.lower()]}", ctx)
            names = self.list_commands(ctx)
            similar = get_close_matches(name, names, 1)
            hint = f"; did you mean {similar[0]!r}?" if similar else f"; there are {', '.join(names)}"
            raise click.UsageError(f"no such command: {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)


def is_path(parameter: click.Parameter) -> bool:
    """True if the values of a parameter are paths, which its metavar says."""
    return (parameter.metavar or "").removesuffix("...") in PATH_METAVARS


def _require_paths(parameter: click.Parameter, value: object) -> None:
    """InputError with the name of the option if a value cannot be a path."""
    from exaln.foundation.paths import checked_path

    name = parameter.opts[0] if isinstance(parameter, click.Option) else str(parameter.metavar).removesuffix("...")
    for path in value if isinstance(value, tuple) else (value,):
        if isinstance(path, str):
            checked_path(path, name)


def _value_of(option: click.Option, words: Any, options: dict[str, click.Option], ctx: click.Context) -> list[str]:
    """The next word, if there is one; UsageError if it is another option."""
    for word in words:
        if word in options:
            raise click.UsageError(f"option '{option.opts[0]}' needs a value, but '{word}' follows", ctx)
        return [str(word)]
    return []


def _accept_neutral(
    ctx: click.Context, name: str, value: str | None, words: Iterator[str], options: dict[str, click.Option]
) -> None:
    """Accept a BLAST option whose value asks for what exaln does anyway; anything else is a UsageError."""
    option = blast_option(ctx.command.name, name)
    if option is None:
        raise click.UsageError(_explain_unknown(ctx, name, list(options)), ctx)
    if value is None:
        value = "" if option.is_flag else next(words, "")
    if not option.accepts(value):
        raise click.UsageError(option.refusal(name, value, options), ctx)
    kind = option.kind(value)
    if kind is not None:
        ctx.meta[BLAST_KIND] = f"{name} {value}", kind


def _explain_unknown(ctx: click.Context, name: str, known: Sequence[str]) -> str:
    spelling = blast_spelling(name)
    others = ctx.parent.command.commands if ctx.parent and isinstance(ctx.parent.command, Group) else {}
    for command in others.values():
        if isinstance(command, Command) and any(spelling in option.blast for option in command._options()):
            return f"no such option: {name}; exaln {command.name} has it"
    similar = get_close_matches("--" + name.lstrip("-").replace("_", "-"), known, 1, 0.7)
    return f"no such option: {name}" + (f"; did you mean {similar[0]}?" if similar else "")


def _common_options() -> list[click.Parameter]:
    def set_attribute(name: str) -> Any:
        def callback(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
            if value:
                setattr(ctx.ensure_object(Messages), name, True)

        return callback

    texts = {
        "quiet": "Print only warnings and errors.",
        "verbose": "Print details of the run.",
        "debug": "Show the traceback of an error.",
    }
    options: list[click.Parameter] = [
        click.Option([f"--{name}"], is_flag=True, expose_value=False, callback=set_attribute(name), help=text)
        for name, text in texts.items()
    ]
    return [*options, _version_option()]


def _version_option() -> click.Parameter:
    """--version of a command, as BLAST's programs have it; hidden, since the help of `exaln` shows it."""

    def show(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value:
            click.echo(f"exaln, version {__version__}")
            ctx.exit()

    version = Option(["--version"], is_flag=True, expose_value=False, is_eager=True, hidden=True, callback=show)
    version.blast = ("-version",)
    return version
