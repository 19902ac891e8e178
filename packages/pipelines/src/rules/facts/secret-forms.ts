/**
 * Finds what looks like a secret that somebody wrote into a file: keys of known forms, passwords in addresses, and
 * values behind names such as `password`.
 */

const value = String.raw`(?:"(?:[^"\\\n]|\\.){3,}"|'(?:[^'\n]|''){3,}'|[^\s"'#,;)\]}]{3,})`;
const names =
  'password|passwd|pwd|secret|client_?secret|api[_-]?key|access[_-]?key|private[_-]?key|auth_?token|access_?token|refresh_?token|token|credential';

const secretName = new RegExp(String.raw`(?:${names})(?:[_-]?(?:hash|value|text|\d+))?$`, 'i');

/** Whether what has this name is taken for a secret, such as `db_password`. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

/** The first group, if there is one, stays. */
const forms: readonly RegExp[] = [
  // not SQL: a key in PEM
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
  // SQL: PASSWORD '…' and IDENTIFIED BY '…'.
  new RegExp(String.raw`((?:${names}|\bidentified\s+by)\s+)'(?!\$\{)(?:[^'\n]|''){3,}'`, 'gi'),
];

/** YAML: the lines of a block are below its name and further right. */
const blockHead = new RegExp(
  String.raw`^([ \t]*)(?:- +)?[\w.-]*:(?<=(?:${names}):)[ \t]*[|>][-+\d]*[ \t]*\n`,
  'gim',
);

function findBlocks(text: string): SecretSpan[] {
  const found: SecretSpan[] = [];
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

export interface SecretSpan {
  start: number;
  end: number;
}

/**
 * In the order of their places; of those that begin at the same one the longest. `others`: further forms, whose first
 * group, if there is one, is left out.
 */
export function findSecretSpans(text: string, others: readonly RegExp[] = []): SecretSpan[] {
  const found = findBlocks(text);
  for (const form of [...others, ...forms])
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
