/**
 * Masks what looks like a secret in text for the model. The agent has already masked the secrets that a run read
 * from a vault; this is for those that somebody wrote into a file or a table.
 *
 * The mask of a file is numbered by its place, so that the file can be written back without the model knowing the
 * secret. A check after the number says which secrets the file had: after a change of them no mark is restored as
 * another secret. It is about all secrets of the file, because one about each of them would let many guesses at a
 * secret be compared with it in one file.
 */
import { createHmac } from 'node:crypto';

const value = String.raw`(?:"(?:[^"\\\n]|\\.){3,}"|'(?:[^'\n]|''){3,}'|[^\s"'#,;)\]}]{3,})`;
const names =
  'password|passwd|pwd|secret|client_?secret|api[_-]?key|access[_-]?key|private[_-]?key|auth_?token|access_?token|refresh_?token|token|credential';

const secretName = new RegExp(String.raw`(?:${names})(?:[_-]?(?:hash|value|text|\d+))?$`, 'i');

/** Whether what has this name is taken for a secret, such as `db_password`. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

const maskPattern = /\[secret \d+(?:-[0-9a-f]{8})?\]/g;
/** What stands in place of a secret that cannot be written back. It is none, and is shown as it is. */
const plainMark = '[masked]';
/** The first group, if there is one, stays. */
const forms: readonly RegExp[] = [
  /\[masked\]/g,
  // A text that looks like a mark gets a number too, so that it comes back as it was.
  maskPattern,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[abprs]-[\w-]{10,}|sk-[\w-]{20,}|AIza[\w-]{30,})/g,
  /((?<![\w-])(?:(?!\beyJ)[\w-])*)\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  /(\b(?:Bearer|Basic)\s+)[\w.~+/=-]{12,}/gi,
  /((?<![a-z0-9+.-])[a-z0-9+.-]+:\/\/[^\s:/@"']*:)[^\s@/"']+(?=@)/gi,
  // YAML: an unquoted value goes on to the end of the line.
  new RegExp(
    String.raw`(^[ \t-]*(?:[\w.][\w.-]*)?:(?<=(?:${names}):)[ \t]+)[^\s"'[{$|>&*#](?:[^\n#]|(?<=\S)#)*[^\s#]`,
    'gim',
  ),
  // An expression such as ${secret("name")} names a secret and is none.
  new RegExp(String.raw`((?:${names})["']?\s*[:=]\s*)(?!["']?\$\{)${value}`, 'gi'),
];

/** YAML: the lines of a block are below its name and further right. */
const blockHead = new RegExp(
  String.raw`^([ \t]*)(?:- +)?[\w.-]*:(?<=(?:${names}):)[ \t]*[|>][-+\d]*[ \t]*\n`,
  'gim',
);

function findBlocks(text: string): Span[] {
  const found: Span[] = [];
  blockHead.lastIndex = 0;
  for (let match = blockHead.exec(text); match !== null; match = blockHead.exec(text)) {
    const start = match.index + match[0].length;
    const end = findBlockEnd(text, start, (match[1] ?? '').length);
    if (end > start) found.push({ start, end });
    blockHead.lastIndex = end;
  }
  return found;
}

/** The end of the last line that is further right; empty lines may be between them. */
function findBlockEnd(text: string, start: number, indent: number): number {
  let end = start;
  for (let from = start; from < text.length; ) {
    const line = text.slice(from, (text.indexOf('\n', from) + 1 || text.length + 1) - 1);
    const isEmpty = line.trim() === '';
    if (!isEmpty && line.length - line.trimStart().length <= indent) break;
    if (!isEmpty) end = from + line.length;
    from += line.length + 1;
  }
  return end;
}

export interface Masked {
  text: string;
  /** In the order of their numbers, from 1. */
  secrets: readonly string[];
}

/** For texts of files. @param key of the task, which only the server knows */
export function maskSecrets(text: string, key: string): Masked {
  const spans = findSpans(text).filter(({ start, end }) => text.slice(start, end) !== plainMark);
  const secrets = spans.map(({ start, end }) => text.slice(start, end));
  const check = digestSecrets(secrets, key);
  let masked = '';
  let at = 0;
  for (const [index, { start, end }] of spans.entries()) {
    masked += `${text.slice(at, start)}[secret ${index + 1}-${check}]`;
    at = end;
  }
  return { text: masked + text.slice(at), secrets };
}

function digestSecrets(secrets: readonly string[], key: string): string {
  return createHmac('sha256', key).update(JSON.stringify(secrets)).digest('hex').slice(0, 8);
}

/** For texts that are never written back: marks without numbers cannot be taken for those of a file. */
export function hideSecrets(text: string): string {
  let hidden = '';
  let at = 0;
  for (const { start, end } of findSpans(text)) {
    const value = text.slice(start, end);
    hidden += `${text.slice(at, start)}${isMark(value) ? value : plainMark}`;
    at = end;
  }
  return hidden + text.slice(at);
}

const isMark = (text: string) => /^\[secret \d+(?:-[0-9a-f]{8})?\]$/.test(text);

interface Span {
  start: number;
  end: number;
}

/** What is masked, in the order of the places; the longest of those that begin at the same one. */
function findSpans(text: string): Span[] {
  const found = findBlocks(text);
  for (const form of forms)
    for (const match of text.matchAll(form)) {
      const start = match.index + (match[1]?.length ?? 0);
      found.push({ start, end: match.index + match[0].length });
    }
  found.sort((one, other) => one.start - other.start || other.end - one.end);
  let at = 0;
  return found.filter(({ start, end }) => {
    if (start < at) return false;
    at = end;
    return true;
  });
}

/**
 * A mark that the earlier content does not have, one whose secret could be read where it stands now, or one that
 * stands so often that the file would be too long.
 */
export type Restored = { text: string } | { fault: 'unknown' | 'readable' | 'too-often'; mark: string };

/** Of a file with secrets that stand several times. */
const mostRestored = 1_048_576;

/** Puts the secrets of the earlier content back. */
export function restoreSecrets(text: string, { earlier, key }: { earlier: string; key: string }): Restored {
  const { secrets } = maskSecrets(earlier, key);
  const check = digestSecrets(secrets, key);
  const longest = Math.max(mostRestored, text.length + earlier.length);
  const places: (Span & { mark: string })[] = [];
  let restored = '';
  let at = 0;
  for (const { 0: mark, index } of text.matchAll(maskPattern)) {
    const number = Number.parseInt(mark.slice('[secret '.length), 10);
    const secret = secrets[number - 1];
    if (secret === undefined || mark !== `[secret ${number}-${check}]`) return { fault: 'unknown', mark };
    restored += text.slice(at, index);
    if (restored.length + secret.length > longest) return { fault: 'too-often', mark };
    places.push({ start: restored.length, end: restored.length + secret.length, mark });
    restored += secret;
    at = index + mark.length;
  }
  restored += text.slice(at);
  const spans = findSpans(restored);
  let next = 0;
  const readable = places.find(({ start, end }) => {
    // Both are in the order of the text.
    while ((spans[next]?.end ?? Number.POSITIVE_INFINITY) < end) next += 1;
    return (spans[next]?.start ?? Number.POSITIVE_INFINITY) > start;
  });
  return readable === undefined ? { text: restored } : { fault: 'readable', mark: readable.mark };
}
