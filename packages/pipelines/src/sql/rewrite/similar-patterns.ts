/** Patterns of SIMILAR TO, which Redshift has, as patterns of RE2. */
import { SqlError } from '../dialect/dialect.ts';

/** What means the same in both. */
const shared = '|*+?{}()';

/**
 * The pattern for the whole text: `%` is any text and `_` any character; `|`, `*`, `+`, `?`, `{}`, `()` and `[]` are
 * those of regular expressions; all other characters stand for themselves, also after the escape character.
 *
 * @throws SqlError for an escape character at the end
 */
export function translateSimilarPattern(pattern: string, escaping: string): string {
  let found = '';
  let isInBrackets = false;
  const characters = [...pattern];
  for (let at = 0; at < characters.length; at += 1) {
    let character = characters[at] ?? '';
    if (character === escaping && escaping !== '') {
      at += 1;
      const next = characters[at];
      if (next === undefined)
        throw new SqlError(
          `the pattern '${pattern}' of SIMILAR TO ends with its escape character: write it twice`,
        );
      character = next;
      found += quote(character);
    } else if (isInBrackets) {
      isInBrackets = character !== ']';
      found += character === '\\' ? '\\\\' : character;
    } else if (character === '[') {
      isInBrackets = true;
      found += character;
    } else if (character === '%') found += '.*';
    else if (character === '_') found += '.';
    else found += shared.includes(character) ? character : quote(character);
  }
  return found;
}

const quote = (character: string) =>
  /[\w\s]/.test(character) || character > '\u007f' ? character : `\\${character}`;
