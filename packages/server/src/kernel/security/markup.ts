/** A longer one is no tag. */
const longestTag = 1_000;

/**
 * The text of a page of another host: a space for each tag, and for scripts and styles with their content. It reads
 * the text once, whatever is not closed.
 */
export function removeMarkup(text: string): string {
  const unclosed = new Set<string>();
  let plain = '';
  let at = 0;
  let close = -1;
  for (let open = text.indexOf('<'); open >= 0; open = text.indexOf('<', at)) {
    plain += text.slice(at, open);
    const end = findElementEnd(text, open, unclosed);
    if (close < open && close !== text.length) {
      const next = text.indexOf('>', open);
      close = next < 0 ? text.length : next;
    }
    const isTag = close < text.length && close - open - 1 <= longestTag;
    plain += end !== undefined || isTag ? ' ' : '<';
    at = end ?? (isTag ? close + 1 : open + 1);
  }
  return plain + text.slice(at);
}

const endTags: Readonly<Record<string, RegExp>> = { script: /<\/script>/gi, style: /<\/style>/gi };

/** Of a script or a style; undefined for anything else, and if it is not closed. */
function findElementEnd(text: string, open: number, unclosed: Set<string>): number | undefined {
  const name = /^<(script|style)\b/i.exec(text.slice(open, open + 8))?.[1]?.toLowerCase() ?? '';
  const endTag = endTags[name];
  if (endTag === undefined || unclosed.has(name)) return undefined;
  endTag.lastIndex = open;
  const end = endTag.exec(text);
  if (end === null) unclosed.add(name);
  return end === null ? undefined : end.index + end[0].length;
}
