/**
 * A unified diff with one hunk a file: from the first line that differs to the last one. That is enough to read,
 * and a patch program applies it.
 */

const contextLines = 3;

/** Undefined: there is no such file. */
export function renderPatch(path: string, before: string | undefined, after: string | undefined): string {
  if (before === after) return '';
  const old = splitLines(before ?? '');
  const fresh = splitLines(after ?? '');
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let alike = 0;
  while (
    alike < old.length - start &&
    alike < fresh.length - start &&
    old[old.length - 1 - alike] === fresh[fresh.length - 1 - alike]
  )
    alike += 1;
  const from = Math.max(0, start - contextLines);
  const trailing = Math.min(alike, contextLines);
  const lines = [
    ...old.slice(from, start).map((line) => ` ${line}`),
    ...old.slice(start, old.length - alike).map((line) => `-${line}`),
    ...fresh.slice(start, fresh.length - alike).map((line) => `+${line}`),
    ...old.slice(old.length - alike, old.length - alike + trailing).map((line) => ` ${line}`),
  ];
  const head = [
    `diff --git a/${path} b/${path}`,
    `--- ${before === undefined ? '/dev/null' : `a/${path}`}`,
    `+++ ${after === undefined ? '/dev/null' : `b/${path}`}`,
    `@@ -${renderRange(from, old.length - alike + trailing - from)} +${renderRange(from, fresh.length - alike + trailing - from)} @@`,
  ];
  return `${[...head, ...lines.map(closeLine)].join('\n')}\n`;
}

/** Each line keeps its end, so that a missing last one is a difference. */
const splitLines = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

const closeLine = (line: string) =>
  line.endsWith('\n') ? line.slice(0, -1) : `${line}\n\\ No newline at end of file`;

const renderRange = (from: number, count: number) => `${count === 0 ? from : from + 1},${count}`;
