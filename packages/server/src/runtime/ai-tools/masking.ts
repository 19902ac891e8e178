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
import { findSecretSpans, type SecretSpan } from '@headgate/pipelines';

const maskPattern = /\[secret \d+(?:-[0-9a-f]{8})?\]/g;
/** What stands in place of a secret that cannot be written back. It is none, and is shown as it is. */
const plainMark = '[masked]';
/**
 * Marks and masks count as secrets. A text that looks like a mark gets a number too, so that it comes back as it was.
 */
const findSpans = (text: string) => findSecretSpans(text, [/\[masked\]/g, maskPattern]);

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
  const places: (SecretSpan & { mark: string })[] = [];
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
