# SPDX-License-Identifier: Apache-2.0
"""What mkdocs.yml does not do by itself: links that leave docs/ lead to copies of those files in the site, the index of
the search is a script as well, for pages that are opened as files, and the API pages come along."""
import os
import pathlib
import re
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)(\[[^\]]*\]\()([^)#\s:]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```|~~~)")
wanted = set()


def on_page_markdown(markdown, page, **_):
    folder = (ROOT / "docs" / page.file.src_path).parent

    def rewritten(match):
        target = pathlib.Path(os.path.normpath(folder / match[2]))
        if target.is_relative_to(ROOT / "docs") or not target.exists():
            return match[0]
        wanted.add(target.relative_to(ROOT))
        # An absolute link is none that mkdocs looks for; on_page_content makes it a relative one.
        return f"{match[1]}/SOURCE/{target.relative_to(ROOT)})"

    lines, fenced = [], False
    for line in markdown.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
            line = re.sub(r"^```sh \w+$", "```sh", line)  # words for .ci/pages, which Markdown does not know
        lines.append(line if fenced else LINK.sub(rewritten, line))
    return "\n".join(lines)


def on_page_content(html, page, **_):
    up = "../" * page.url.count("/")
    if (ROOT / "build" / "api").is_dir():
        html = html.replace("<code>build/site/api/index.html</code>", f'<a href="{up}api/index.html">API pages</a>')
    return re.sub(r'href="/SOURCE/([^"]*)"', rf'href="{up}source/\1.txt"', html)


def on_post_build(config, **_):
    site = pathlib.Path(config["site_dir"])
    for path in sorted(wanted):
        to = site / "source" / f"{path}.txt"
        to.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            to.write_text("".join(f"{path}/{p.name}\n" for p in sorted((ROOT / path).iterdir())))
        else:
            shutil.copyfile(ROOT / path, to)
    index = (site / "search" / "search_index.json").read_text()
    (site / "assets" / "search_index.js").write_text(f"__searchIndex({index})\n")
    api = ROOT / "build" / "api"
    if api.is_dir():
        shutil.copytree(api, site / "api", copy_function=os.link)
