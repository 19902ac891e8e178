/**
 * Masks what looks like a secret in text for the model. The agent has already masked the secrets that a run read
 * from a vault; this is for those that somebody wrote into a file or a table.
 *
 * The mask is numbered by its place, so that a file can be written back without the model knowing the secret.
 */

const value = String.raw`(?:"[^"\n]{3,}"|'[^'\n]{3,}'|[^\s"'#,;)\]}]{3,})`;
const names =
  'password|passwd|pwd|secret|client_?secret|api_?key|access_?key|private_?key|auth_?token|access_?token|refresh_?token|token|credential';

const maskPattern = /\[secret \d+\]/g;
/** The first group, if there is one, stays. */
const forms: readonly RegExp[] = [
  // A text that looks like a mark gets a number too, so that it comes back as it was.
  maskPattern,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[abprs]-[\w-]{10,}|sk-[\w-]{20,}|AIza[\w-]{30,})/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  /(\b(?:Bearer|Basic)\s+)[\w.~+/=-]{12,}/gi,
  /(\b[a-z][a-z0-9+.-]*:\/\/[^\s:/@"']*:)[^\s@/"']+(?=@)/gi,
  // An expression such as ${secret("name")} names a secret and is none.
  new RegExp(String.raw`((?:["']?\b[\w.-]*(?:${names})["']?)\s*[:=]\s*)(?!\s*["']?\$\{)${value}`, 'gi'),
];

export interface Masked {
  text: string;
  /** In the order of their numbers, from 1. */
  secrets: readonly string[];
}

export function maskSecrets(text: string): Masked {
  const secrets: string[] = [];
  // Each form works on what the earlier ones left, and numbers follow the places in the end.
  const spans: { start: number; end: number }[] = [];
  for (const form of forms)
    for (const match of text.matchAll(form)) {
      const start = match.index + (match[1]?.length ?? 0);
      spans.push({ start, end: match.index + match[0].length });
    }
  spans.sort((one, other) => one.start - other.start || other.end - one.end);
  let masked = '';
  let at = 0;
  for (const { start, end } of spans) {
    if (start < at) continue;
    secrets.push(text.slice(start, end));
    masked += `${text.slice(at, start)}[secret ${secrets.length}]`;
    at = end;
  }
  return { text: masked + text.slice(at), secrets };
}

/**
 * Puts the secrets of the earlier content back.
 * @returns undefined if the text has a mask that the earlier content does not have
 */
export function restoreSecrets(text: string, earlier: string): string | undefined {
  const { secrets } = maskSecrets(earlier);
  let isKnown = true;
  const restored = text.replaceAll(maskPattern, (mask) => {
    const secret = secrets[Number(mask.slice('[secret '.length, -1)) - 1];
    if (secret === undefined) isKnown = false;
    return secret ?? mask;
  });
  return isKnown ? restored : undefined;
}
