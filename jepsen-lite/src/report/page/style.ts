/**
 * How the pages look: one style for the run and the index, light and dark. What the timeline draws takes its colours from here, by the
 * names below. No meaning hangs on a colour alone.
 */

const LIGHT = `
  --page: #f4f5f7; --panel: #ffffff; --sunk: #f7f8fa; --ink: #16191d; --muted: #59626d; --line: #dfe3e8; --strong: #c3cad3;
  --link: #1d4f91; --focus-ring: #1d4f91;
  --passed: #17663a; --passed-back: #e3f3e8; --failed: #a3152b; --failed-back: #fce8ea; --unknown: #7a4d00; --unknown-back: #fdf0d5;
  --ok: #4a7ebb; --ok-ink: #ffffff; --fail: #8a3b12; --info: #8a6a00; --open: #59626d;
  --holder: #cfdcec; --holder-alt: #b4c8e1; --holder-ink: #15233a; --belief: #33547d; --stale: #a3152b;
  --leader: #d9d3ea; --leader-alt: #c3b9dd; --leader-ink: #261b45;
  --fault: #e8b878; --fault-ink: #573000; --fault-wash: rgba(214, 140, 40, 0.07);
  --witness: #a3152b; --witness-wash: rgba(163, 21, 43, 0.045); --rule: #eceff2;`;

const DARK = `
  --page: #101316; --panel: #181c21; --sunk: #1e2329; --ink: #e7eaee; --muted: #9ba5b1; --line: #2d343c; --strong: #46505b;
  --link: #8fbdf5; --focus-ring: #8fbdf5;
  --passed: #7fd6a0; --passed-back: #143021; --failed: #ff8d9b; --failed-back: #3a161c; --unknown: #f0c46b; --unknown-back: #352a10;
  --ok: #5c93d6; --ok-ink: #0c1118; --fail: #e39a6c; --info: #d8b64a; --open: #9ba5b1;
  --holder: #2b3f59; --holder-alt: #38537a; --holder-ink: #dfeaf8; --belief: #9cc0ee; --stale: #ff8d9b;
  --leader: #3a3156; --leader-alt: #4c4170; --leader-ink: #e9e2fb;
  --fault: #8a5f22; --fault-ink: #ffe3b8; --fault-wash: rgba(220, 150, 50, 0.08);
  --witness: #ff8d9b; --witness-wash: rgba(255, 141, 155, 0.07); --rule: #232930;`;

export const STYLE = `
:root { color-scheme: light; ${LIGHT}
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
@media (prefers-color-scheme: dark) { :root:not([data-theme="light"]) { color-scheme: dark; ${DARK} } }
:root[data-theme="dark"] { color-scheme: dark; ${DARK} }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--page); color: var(--ink); }
main { max-width: 1680px; margin: 0 auto; padding: 0 24px; display: grid; gap: 16px; grid-template-columns: minmax(0, 1fr); }
footer { max-width: 1680px; margin: 0 auto; padding: 20px 24px 32px; color: var(--muted); font-size: 12px; }
.top { max-width: 1680px; margin: 0 auto; padding: 18px 24px 12px; display: flex; align-items: center; gap: 16px; }
.title { display: flex; align-items: center; gap: 14px; flex: 1; min-width: 0; flex-wrap: wrap; }
h1 { font-size: 22px; line-height: 1.25; margin: 0; font-weight: 650; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 16px; line-height: 1.35; margin: 0 0 8px; font-weight: 650; overflow-wrap: anywhere; }
h3 { font-size: 14px; margin: 14px 0 6px; font-weight: 650; overflow-wrap: anywhere; }
.target { color: var(--muted); }
.badge { display: inline-flex; align-items: center; gap: 7px; padding: 4px 12px 4px 9px; border-radius: 6px; font-weight: 700; font-size: 13px;
  letter-spacing: 0.04em; text-transform: uppercase; border: 1.5px solid currentColor; white-space: nowrap; }
.badge .sign { font-size: 15px; line-height: 1; }
.badge.passed { color: var(--passed); background: var(--passed-back); }
.badge.failed { color: var(--failed); background: var(--failed-back); border-style: double; border-width: 4px; padding: 2px 10px 2px 7px; }
.badge.unknown { color: var(--unknown); background: var(--unknown-back); border-style: dashed; }
.facts { margin: 0; display: flex; flex-wrap: wrap; gap: 8px 28px; padding: 0 0 2px; }
.facts div { display: flex; flex-direction: column-reverse; }
.facts dt { color: var(--muted); font-size: 12px; line-height: 1.3; }
.facts dd { margin: 0; font-size: 17px; line-height: 1.3; font-weight: 600; font-variant-numeric: tabular-nums; }
.card { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 16px 18px; min-width: 0; }
.card.failed { border-left: 5px solid var(--failed); }
.card.passed { border-left: 5px solid var(--passed); }
.card.unknown { border-left: 5px dashed var(--unknown); }
.card > :last-child { margin-bottom: 0; }
.verdict-text { margin: 0 0 10px; }
.by { font-weight: 600; color: var(--failed); border: 1px solid currentColor; border-radius: 4px; padding: 0 6px; font-size: 13px; margin-right: 4px; white-space: nowrap; }
.witness { list-style: none; margin: 6px 0 0; padding: 0; display: grid; gap: 1px; }
.step { all: unset; box-sizing: border-box; width: 100%; display: grid; grid-template-columns: 22px auto minmax(0, 1fr); gap: 12px; align-items: baseline;
  padding: 4px 8px 4px 4px; border-radius: 5px; cursor: pointer; }
.step:hover { background: var(--sunk); }
.step.current { background: var(--witness-wash); box-shadow: inset 3px 0 var(--witness); }
.number { display: inline-grid; place-items: center; width: 21px; height: 21px; border-radius: 50%; background: var(--witness); color: var(--panel);
  font-size: 12px; font-weight: 700; line-height: 1; font-variant-numeric: tabular-nums; }
.context .number { background: var(--panel); color: var(--witness); box-shadow: inset 0 0 0 1.5px var(--witness); }
.step em { color: var(--muted); }
.when { color: var(--muted); font-variant-numeric: tabular-nums; white-space: nowrap; min-width: 66px; }
.what { overflow-wrap: anywhere; }
.gap { color: var(--muted); padding: 2px 0 2px 38px; }
.replay { display: flex; align-items: center; gap: 10px; margin-top: 12px; flex-wrap: wrap; }
.replay span { color: var(--muted); font-size: 12px; }
.replay code { flex: 0 1 auto; min-width: 0; }
code, pre, kbd { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 12.5px; }
code { background: var(--sunk); border: 1px solid var(--line); border-radius: 5px; padding: 4px 9px; overflow-wrap: anywhere; }
pre { background: var(--sunk); border: 1px solid var(--line); border-radius: 6px; padding: 10px 12px; margin: 8px 0 0; max-height: 340px; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
kbd { border: 1px solid var(--strong); border-bottom-width: 2px; border-radius: 4px; padding: 0 5px; font-size: 11px; background: var(--sunk); color: var(--ink); }
button { font: inherit; color: inherit; }
.quiet, .tools button { border: 1px solid var(--strong); background: var(--panel); border-radius: 6px; padding: 3px 11px; cursor: pointer; min-height: 30px; }
.quiet:hover, .tools button:hover { background: var(--sunk); }
.tools button.strong { border-color: var(--witness); color: var(--witness); font-weight: 600; }
:focus-visible { outline: 2.5px solid var(--focus-ring); outline-offset: 1px; }
details > summary { cursor: pointer; color: var(--link); padding: 3px 0; width: fit-content; }
.more { margin: 8px 0 0; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 0 16px; }
.panel { min-width: 0; }
.panel h3 { margin: 0; color: var(--muted); font-weight: 500; font-size: 12px; }
.panel pre { white-space: pre; overflow-wrap: normal; }
.others { margin-top: 10px; }
.bar { display: flex; align-items: center; gap: 10px 18px; flex-wrap: wrap; margin-bottom: 10px; }
.bar h2 { margin: 0; }
.tools { display: flex; gap: 6px; }
.legend { display: flex; gap: 4px 13px; flex-wrap: wrap; margin-left: auto; color: var(--muted); font-size: 12px; align-items: center; }
.legend span { display: inline-flex; align-items: center; gap: 6px; white-space: nowrap; }
.legend canvas { display: block; }
.chart { position: relative; user-select: none; -webkit-user-select: none; border: 1px solid var(--line); border-radius: 6px; overflow: clip; }
.chart canvas { display: block; }
#overview { cursor: ew-resize; touch-action: none; background: var(--sunk); }
#stage { position: relative; overflow-y: auto; overflow-x: hidden; border-block: 1px solid var(--line); background: var(--panel); cursor: grab; contain: strict; }
#stage:focus-visible { outline: none; }
.chart:has(#stage:focus-visible) { outline: 2.5px solid var(--focus-ring); outline-offset: 1px; }
#stage.dragging { cursor: grabbing; }
#tracks { position: sticky; top: 0; left: 0; }
#marks { position: absolute; inset: 0 auto auto 0; width: 100%; height: 0; }
.pin { all: unset; position: absolute; width: 19px; height: 19px; margin: -9.5px 0 0 -9.5px; border-radius: 50%; background: var(--witness); color: var(--panel);
  display: grid; place-items: center; font-size: 11px; font-weight: 700; line-height: 1; cursor: pointer; box-shadow: 0 0 0 2px var(--panel); }
.pin.context { background: var(--panel); color: var(--witness); box-shadow: inset 0 0 0 2px var(--witness), 0 0 0 2px var(--panel); }
.pin.current { box-shadow: 0 0 0 2px var(--panel), 0 0 0 4px var(--witness); }
.pin:focus-visible { outline: 2.5px solid var(--focus-ring); outline-offset: 3px; }
#tip { position: absolute; z-index: 3; pointer-events: none; max-width: 420px; background: var(--ink); color: var(--panel); border-radius: 6px; padding: 7px 10px;
  font-size: 12.5px; line-height: 1.4; box-shadow: 0 4px 14px rgba(0, 0, 0, 0.25); overflow-wrap: anywhere; }
#tip b { display: block; }
.selected { margin: 10px 0 0; min-height: 3em; padding: 8px 12px; background: var(--sunk); border-radius: 6px; overflow-wrap: anywhere; }
.keys { margin: 8px 0 0; color: var(--muted); font-size: 12px; }
.note { margin: 0 0 10px; color: var(--muted); font-size: 12.5px; }
.empty { color: var(--muted); margin: 0; }
.summary { margin: 0 0 8px; color: var(--muted); }
.warning { margin: 10px 0 0; padding: 7px 12px; border-left: 4px dashed var(--unknown); background: var(--unknown-back); color: var(--unknown); border-radius: 4px; overflow-wrap: anywhere; }
.columns { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 16px; align-items: start; }
@media (max-width: 1000px) { .columns { grid-template-columns: minmax(0, 1fr); } }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: left; padding: 6px 14px 6px 0; border-top: 1px solid var(--line); vertical-align: top; }
thead th { border-top: 0; color: var(--muted); font-weight: 500; font-size: 12px; white-space: nowrap; }
tbody th { font-weight: 600; }
.mark { white-space: nowrap; font-weight: 600; }
.mark.passed, .mark.passed a { color: var(--passed); }
.mark.failed, .mark.failed a { color: var(--failed); font-weight: 750; }
.mark.unknown, .mark.unknown a { color: var(--unknown); font-style: italic; }
.counts span { display: inline-block; margin-right: 14px; color: var(--muted); white-space: nowrap; }
.counts b, .chips b { color: var(--ink); font-variant-numeric: tabular-nums; font-weight: 600; }
.figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
a { color: var(--link); }
.message { display: block; font-weight: 400; color: var(--muted); overflow-wrap: anywhere; max-width: 70ch; }
.chips { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 6px; }
.chips li { border: 1px solid var(--line); background: var(--sunk); border-radius: 5px; padding: 1px 9px; color: var(--muted); font-size: 12.5px; }
.matrix td, .matrix thead th:not(:first-child) { text-align: center; padding: 7px 10px; border-left: 1px solid var(--line); }
.matrix .mark.failed { background: var(--failed-back); box-shadow: inset 0 0 0 2px var(--failed); }
.matrix .mark.passed { background: var(--passed-back); }
.matrix .mark.unknown { background: repeating-linear-gradient(135deg, var(--unknown-back) 0 6px, transparent 6px 11px); }
.matrix .none { color: var(--muted); }
.times { color: var(--muted); font-weight: 400; font-style: normal; font-size: 12px; margin-left: 5px; }
@media print { .tools, .keys, #theme, #copy { display: none; } }
`;
