"""What the checks share: which files are ours, and a source without its comments and strings."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def sources(*suffixes, under=""):
    """The files that git knows or would add, in order. None at all is an error: then this is no checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", under or "."],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    if not listed:
        sys.exit(f"git lists no files in {ROOT / under}: the checks need a checkout of their own")
    paths = (ROOT / name for name in sorted(set(listed)))
    return [path for path in paths if path.suffix in suffixes and path.is_file()]


_COMMENT_OR_STRING = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\"\"\".*?\"\"\"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL)


def code_only(text):
    """The text with comments and literals blanked; line numbers stay as they are."""
    return _COMMENT_OR_STRING.sub(lambda match: "\n" * match.group(0).count("\n"), text)


def fail_with(findings):
    """Print the findings; the exit status says whether there were any."""
    count = 0
    for finding in findings:
        print(finding)
        count += 1
    return 1 if count else 0
