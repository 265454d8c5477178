// How all pages look: in the light and in the dark, on a desk and on a phone.
#pragma once
#include <string_view>

namespace ridge::cli::page {

inline constexpr std::string_view style = R"(
:root {
  color-scheme: light dark;
  --ink: #1a1a1a; --soft: #636363; --line: #d8d8d8; --paper: #fff;
  --bad: #b3261e; --warm: #fff3d6; --hot: #ffd9d4; --bar: #3a6ea5; --link: #1f5a96;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6e6e6; --soft: #a0a0a0; --line: #3a3a3a; --paper: #161616;
    --bad: #ff8a80; --warm: #3a3218; --hot: #4a211d; --bar: #6fa3d8; --link: #8fbce8;
  }
}
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; max-width: 72rem; padding: 1rem; overflow-wrap: break-word;
  background: var(--paper); color: var(--ink); font: 16px/1.45 system-ui, sans-serif;
}
h1 { font-size: 1.4rem; line-height: 1.25; }
h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p, li, figcaption { max-width: 46rem; }
p { margin: .5rem 0; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
code { font-family: ui-monospace, monospace; font-size: .85em; }
.soft, figcaption { color: var(--soft); }
.bad { color: var(--bad); }
.scroll { overflow-x: auto; }
summary { cursor: pointer; margin: .8rem 0; }

figure { margin: .8rem 0; }
figure svg { display: block; width: 100%; max-width: 36rem; height: auto; color: var(--ink); }
figure.wide { overflow-x: auto; }
figure.wide svg { min-width: 44rem; max-width: 60rem; }
svg .paper { fill: var(--paper); }
svg .edge { stroke: var(--paper); }
figcaption { font-size: .85rem; }

table { border-collapse: collapse; }
table.figures { font-size: .85rem; font-variant-numeric: tabular-nums; margin: .4rem 0; }
table.figures th, table.figures td {
  padding: .25rem .5rem; text-align: right; vertical-align: top; white-space: nowrap;
  border-bottom: 1px solid var(--line);
}
table.figures th { color: var(--soft); font-weight: 600; white-space: normal; vertical-align: bottom; }
table.figures .l { text-align: left; }

.bars { display: grid; grid-template-columns: max-content 1fr max-content; gap: .15rem .6rem; max-width: 40rem; }
.bars .bar { height: .7rem; background: var(--bar); min-width: 1px; align-self: center; }

table.src { width: 100%; font: .8rem/1.45 ui-monospace, monospace; }
table.src th, table.src td { padding: 0 .5rem; text-align: left; vertical-align: top; }
table.src th { color: var(--soft); font-weight: normal; border-bottom: 1px solid var(--line); }
table.src .n, table.src .g { color: var(--soft); text-align: right; white-space: nowrap; width: 1px; }
table.src .n a { color: inherit; }
table.src td.n, table.src td.g { border-right: 1px solid var(--line); }
table.src .c { white-space: pre; }
tr.warm td { background: var(--warm); }
tr.hot td { background: var(--hot); }
table.src tr.warm .g, table.src tr.hot .g { color: var(--ink); }
tr:target .n { outline: 2px solid var(--bar); outline-offset: -2px; }
table.src tr.note .c { white-space: normal; color: var(--bad); padding-bottom: .25rem; }
table.src tr.gap .c { color: var(--soft); padding: .3rem .5rem; }

/* On a phone a line's figures stand below it, each with its name, and long lines wrap. */
@media (max-width: 45rem) {
  body { padding: .8rem; font-size: 15px; }
  h1 { font-size: 1.2rem; }
  table.src, table.src tbody { display: block; }
  table.src tr { display: flex; flex-wrap: wrap; position: relative; padding-left: 2.8rem; }
  table.src tr.titles { display: none; }
  table.src td { padding: 0 .35rem; }
  table.src td.n { position: absolute; left: 0; top: 0; bottom: 0; width: 2.1rem; }
  table.src td.c { flex: 0 0 100%; box-sizing: border-box; min-height: 1.45em; }
  table.src td.c { white-space: pre-wrap; overflow-wrap: anywhere; }
  table.src td.g { order: 1; width: auto; border: 0; font-size: .75rem; }
  table.src td.g:empty { display: none; }
  table.src td.g::before { content: attr(data-of) " "; color: var(--soft); }
  tr.warm, tr.hot { background: var(--warm); }
  tr.hot { background: var(--hot); }
}
@media print { details > * { display: block; } .scroll, figure.wide { overflow: visible; } }
)";

}  // namespace ridge::cli::page
