/**
 * Hostile texts: each makes careless code slow, such as a pattern that backtracks, a search that starts again at
 * every character, or a reader that recurses.
 */

/** Makes a text of this many characters at most. */
export type Shape = (characters: number) => string;

/** Repeats a unit, between what leads a pattern in and what makes its match fail at the very end. */
function repeated(unit: string, before = '', after = ''): Shape {
  return (characters) => {
    const count = Math.floor((characters - before.length - after.length) / unit.length);
    return count < 1 ? unit.slice(0, characters) : before + unit.repeat(count) + after;
  };
}

/** Opens as often as it closes. */
function nested(open: string, close: string): Shape {
  return (characters) => {
    const depth = Math.floor(characters / (open.length + close.length));
    return open.repeat(depth) + close.repeat(depth);
  };
}

/** Texts of printable ASCII characters, which any header can hold. */
export const asciiShapes: Readonly<Record<string, Shape>> = {
  letters: repeated('a', '', '!'),
  digits: repeated('1', '', 'x'),
  blanks: repeated(' ', 'why', 'x'),
  'words with dots': repeated('a.', '', '!'),
  'words with hyphens': repeated('a-', '', '!'),
  backslashes: repeated('\\'),
  'double quotes': repeated('"', 'a eq '),
  'single quotes': repeated("'", 'select '),
  'open parentheses': repeated('('),
  'nested parentheses': nested('(', ')'),
  'open brackets': repeated('['),
  'nested braces': nested('{"a":', '}'),
  'open expressions': repeated('$' + '{'),
  'open tags': repeated('<script'),
  'block comments': repeated('/**/', '', 'select'),
  'open comments': repeated('/*'),
  'list of days': repeated('L-1,', '0 0 ', 'L * *'),
  slashes: repeated('/', 'a', 'a'),
  addresses: repeated('http://a.'),
  'secret names': repeated('password_', '', '='),
  'equal signs': repeated('= ', 'a', 'b'),
  commas: repeated('a,'),
};

/** The same and texts with line ends, marks and other characters. */
export const shapes: Readonly<Record<string, Shape>> = {
  ...asciiShapes,
  'line ends': repeated('\n', 'a', 'b'),
  'carriage returns': repeated('\r\n', 'a', 'b'),
  'line comments': repeated('--a\n', '', 'select'),
  'list items': repeated('- ', '', 'a'),
  'keys of YAML': repeated('a: b\n'),
  'combining marks': repeated('\u0301', 'a'),
  'astral letters': repeated('𝔘'),
  'lines of a file': repeated('+ a b c\n'),
};

/** Words, for the same load without a hostile text. */
export const harmlessText: Shape = repeated('plain words ');

/** The cheapest body of a size: one string, which is received and read but has no structure. */
export const harmlessBody: Shape = repeated('plain words ', '{"name":"', '"}');

/** A list of as many units as fit. */
function listed(unit: string, before: string, after: string): Shape {
  return (characters) => {
    const count = Math.floor((characters - before.length - after.length) / (unit.length + 1));
    return `${before}${Array(Math.max(1, count)).fill(unit).join(',')}${after}`;
  };
}

/** Makes an object of members with different names. */
function membersOf(value: string): Shape {
  return (characters) => {
    const count = Math.floor(characters / (value.length + 11));
    return `{${Array.from({ length: count }, (_, index) => `"k${index}":${value}`).join(',')}}`;
  };
}

/** Whole bodies in JSON. */
export const bodyShapes: Readonly<Record<string, Shape>> = {
  'deep lists': nested('[', ']'),
  'deep objects': (characters) => {
    const depth = Math.floor(characters / 6);
    return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  },
  'many numbers': listed('1', '{"value":[', ']}'),
  'many long numbers': listed('1.7976931348623157e308', '[', ']'),
  'many lists': listed('[]', '{"name":[', ']}'),
  'many strings': listed('"x"', '[', ']'),
  'many members': membersOf('1'),
  'many members of objects': membersOf('{"a":[]}'),
  'the same member': listed('"name":1', '{', '}'),
  'a long number': repeated('1', '{"name":', '}'),
  'a long string of escapes': repeated('\\u00e9', '{"name":"', '"}'),
  'a string without an end': repeated('\\"', '{"name":"'),
  blanks: repeated(' ', '{', '}'),
};

export const shapeNames: readonly string[] = [
  ...new Set([...Object.keys(shapes), ...Object.keys(bodyShapes)]),
];
