/**
 * Regular expressions that pipelines bring. They run in RE2, whose time grows with the length of the text only
 * linearly: in JavaScript's engine `(a+)+` on 60 letters does not end.
 */
import { patternLengthLimit, patternSizeLimit } from '../format/bounds.ts';
import { shorten } from '../format/template.ts';
import { ParameterError } from './parameters.ts';

/** Whether a whole text matches. */
export type LinearPattern = (text: string) => boolean;

const remedies: readonly { begins: RegExp; what: string; remedy: string }[] = [
  {
    begins: /\(\?<?[=!]/y,
    what: 'look-around',
    remedy: 'write all that must match, with the alternatives in (a|b)',
  },
  { begins: /\\(?:[1-9]|k<)/y, what: 'a back-reference', remedy: 'write the expression of the group again' },
  { begins: /\(\?>/y, what: 'an atomic group', remedy: 'write (?:…)' },
  { begins: /[*+?}]\+/y, what: 'a possessive quantifier', remedy: 'leave out the second +' },
];

/** @throws ParameterError if the pattern is too long, or has what a linear engine cannot do */
export function checkPattern(parameter: string, pattern: string): void {
  if (pattern.length > patternLengthLimit)
    throw new ParameterError(
      `"${parameter}" has ${pattern.length} characters; the limit is ${patternLengthLimit}: shorten it`,
    );
  let isInClass = false;
  for (let at = 0; at < pattern.length; at += 1) {
    const unsupported = isInClass ? undefined : findUnsupported(pattern, at);
    if (unsupported !== undefined)
      throw new ParameterError(
        `"${parameter}" is ${shorten(pattern)}, which has ${unsupported.what} at character ${at + 1}: that is not supported; ${unsupported.remedy}`,
      );
    if (pattern[at] === '\\') at += 1;
    else if (pattern[at] === '[') isInClass = true;
    else if (pattern[at] === ']') isInClass = false;
  }
}

function findUnsupported(pattern: string, at: number) {
  return remedies.find(({ begins }) => {
    begins.lastIndex = at;
    return begins.test(pattern);
  });
}

/**
 * The engine is loaded when it is used. Flags may stand at the beginning, as Java writes them.
 *
 * @throws ParameterError
 */
export async function compilePattern(parameter: string, pattern: string): Promise<LinearPattern> {
  checkPattern(parameter, pattern);
  const { RE2JS } = await import('re2js');
  const bits: Readonly<Record<string, number>> = {
    i: RE2JS.CASE_INSENSITIVE,
    m: RE2JS.MULTILINE,
    s: RE2JS.DOTALL,
  };
  const [head = '', letters = ''] = /^\(\?([imsu]+)\)/.exec(pattern) ?? [];
  const flags = [...letters].reduce((sum, letter) => sum | (bits[letter] ?? 0), 0);
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern.slice(head.length)), flags);
    if (compiled.programSize() <= patternSizeLimit) return (text) => compiled.testExact(text);
  } catch (error) {
    throw new ParameterError(
      `"${parameter}" is ${shorten(pattern)}, which cannot be used as a regular expression: ${describe(error)}`,
    );
  }
  throw new ParameterError(
    `"${parameter}" is ${shorten(pattern)}, which repeats too much: use smaller numbers in braces, or *`,
  );
}

const describe = (error: unknown) =>
  error instanceof Error ? error.message.replace('error parsing regexp: ', '') : 'it cannot be read';
