/** Says in words what is wrong with YAML, in which line, and what to change there. */

/** An error of the parser, whose own words are for programmers. Line and column count from 1. */
export interface ParserFault {
  readonly code: string;
  readonly message: string;
  readonly offset: number;
  readonly line: number;
  readonly column: number;
}

export type ExplainedFault = Pick<ParserFault, 'message' | 'line' | 'column'>;

interface Found extends ParserFault {
  readonly text: string;
  readonly lines: readonly string[];
  /** The line of the fault. */
  readonly content: string;
}

/** Returns the words, with another line if the fault is there. */
type Explain = (found: Found) => string | { message: string; line: number };

export function explainYaml(fault: ParserFault, text: string): ExplainedFault {
  const lines = text.split('\n').map((line) => line.trimEnd());
  const content = lines[fault.line - 1] ?? '';
  const found = chooseExplanation(fault, content)({ ...fault, text, lines, content });
  if (typeof found === 'string') return { message: found, line: fault.line, column: fault.column };
  return { ...found, column: measureIndentation(lines[found.line - 1] ?? '') + 1 };
}

const conflictMarks = ['<<<<<<<', '=======', '>>>>>>>'];

function chooseExplanation({ code, message }: ParserFault, content: string): Explain {
  if (conflictMarks.some((mark) => content.startsWith(mark)))
    return () =>
      'a merge conflict is left here: keep one side, and remove the lines with <<<<<<<, ======= and >>>>>>>';
  if (code === 'TAB_AS_INDENT' || content.slice(0, measureIndentation(content)).includes('\t'))
    return () => 'a tab stands in the indentation: replace it by spaces';
  const fitting = explanations.find(([of, part]) => of === code && message.includes(part));
  return fitting?.[2] ?? (() => unknown);
}

const unknown = 'the line cannot be read: check its colon, its indentation and its quotes';

/** By the code of the parser and a part of its message. The first one that fits counts. */
const explanations: readonly (readonly [code: string, part: string, explain: Explain])[] = [
  ['MULTILINE_IMPLICIT_KEY', '', explainMissingColon],
  ['MISSING_CHAR', 'Implicit map keys', explainMissingColon],
  ['MISSING_CHAR', 'Missing closing', explainOpenQuote],
  ['MISSING_CHAR', 'Comments must', () => 'a comment needs a space before its #: add one'],
  ['MISSING_CHAR', '', explainMissingComma],
  ['BLOCK_IN_FLOW', '', explainMissingComma],
  ['BAD_INDENT', 'Flow', explainOpenBracket],
  ['BAD_INDENT', '', explainIndentation],
  ['BLOCK_AS_IMPLICIT_KEY', 'sequence', explainBesideOthers],
  ['BLOCK_AS_IMPLICIT_KEY', '', explainSecondColon],
  ['UNEXPECTED_TOKEN', 'node end', explainAfterValue],
  ['UNEXPECTED_TOKEN', 'Not a YAML token', explainTextInHeader],
  ['UNEXPECTED_TOKEN', 'Block scalar header', explainTextInHeader],
  ['UNEXPECTED_TOKEN', 'end token', explainClosing],
  ['UNEXPECTED_TOKEN', '', explainMissingComma],
  ['BAD_SCALAR_START', '', explainFirstCharacter],
  ['BAD_ALIAS', '', explainFirstCharacter],
  ['TAG_RESOLVE_FAILED', '', explainFirstCharacter],
  [
    'BAD_DQ_ESCAPE',
    '',
    ({ text, offset }) =>
      `${text.slice(offset, offset + 2)} means nothing in double quotes: write \\\\ for a backslash, or use single quotes`,
  ],
  [
    'MULTIPLE_DOCS',
    '',
    () => 'a second document begins here: remove the line "---", or put what follows into a file of its own',
  ],
];

const measureIndentation = (line: string) => line.length - line.trimStart().length;

const quotedLength = 60;
const quote = (text: string) =>
  `"${text.length <= quotedLength ? text : `${text.slice(0, quotedLength - 1)}…`}"`;

/** The key of a line, or its text. */
function nameLine(line: string): string {
  const text = line.trim().replace(/^(?:- )+/, '');
  const colon = text.indexOf(':');
  return quote(colon < 0 ? text : text.slice(0, colon));
}

function explainMissingColon(found: Found): string {
  const text = found.content.trim();
  if (text.startsWith('- ')) return explainBesideOthers(found);
  const colon = text.indexOf(':');
  if (colon > 0 && !/[\s"']/.test(text.slice(0, colon)))
    return `a space is missing after the colon: write ${quote(`${text.slice(0, colon)}: ${text.slice(colon + 1).trim()}`)}`;
  const blank = text.search(/\s/);
  const meant = blank < 0 ? `${text}:` : `${text.slice(0, blank)}: ${text.slice(blank).trim()}`;
  const header = findTextAbove(found);
  const orText =
    header === undefined
      ? ''
      : `, or indent the line by more than ${header.indentation} spaces if it belongs to the text of ${header.name} in line ${header.line}`;
  return `${quote(text)} has no colon: write ${quote(meant)}${orText}`;
}

/** The key whose text of several lines, after | or >, ends directly above. */
function findTextAbove({ lines, line }: Found) {
  let least = Number.POSITIVE_INFINITY;
  for (let index = line - 2; index >= 0; index -= 1) {
    const above = lines[index] ?? '';
    if (above.trim() === '') continue;
    const indentation = measureIndentation(above);
    if (indentation < least && beginsText(above))
      return { indentation, name: nameLine(above), line: index + 1 };
    least = Math.min(least, indentation);
    if (indentation === 0) return undefined;
  }
  return undefined;
}

const beginsText = (line: string) => /: ?[|>][-+0-9]{0,2}$/.test(line.slice(-6));

function explainOpenQuote({ lines, line, message }: Found) {
  const mark = message.includes('"') ? '"' : "'";
  for (let index = line - 1; index >= 0; index -= 1) {
    const above = lines[index] ?? '';
    const opening = Math.max(above.lastIndexOf(`: ${mark}`), above.lastIndexOf(`- ${mark}`));
    if (opening < 0 || above.indexOf(mark, opening + 3) >= 0) continue;
    return {
      line: index + 1,
      message: `the value begins with ${mark} and does not end with it: write ${mark} at its end`,
    };
  }
  return `a quote is not closed: write ${mark} at the end of the value`;
}

function explainMissingComma({ content }: Found): string {
  if (content.startsWith('%')) return 'a line must not begin with %: put the value in quotes';
  return 'a comma or a colon is missing here: separate the parts in {…} and […] by commas, or put a text with such signs in quotes';
}

function explainOpenBracket({ lines, line, message }: Found) {
  const [open, close] = message.includes('map') ? (['{', '}'] as const) : (['[', ']'] as const);
  for (let index = line - 1; index >= 0; index -= 1) {
    const above = lines[index] ?? '';
    if (above.split(open).length <= above.split(close).length) continue;
    return { line: index + 1, message: `${open} is not closed: write ${close} at the end of the value` };
  }
  return `${open} is not closed: write ${close} at the end of the value`;
}

interface Level {
  readonly indentation: number;
  readonly line: number;
  readonly content: string;
}

/** The lines around which a line can stand: the nearest one that is indented more, and one that is not. */
function findLevels({ lines, line, content }: Found): { more: Level | undefined; less: Level | undefined } {
  const own = measureIndentation(content);
  let more: Level | undefined;
  for (let index = line - 2; index >= 0; index -= 1) {
    const above = lines[index] ?? '';
    if (above.trim() === '' || above.trimStart().startsWith('#')) continue;
    const level = { indentation: measureIndentation(above), line: index + 1, content: above };
    if (level.indentation <= own) return { more, less: level };
    if (more === undefined || level.indentation <= more.indentation) more = level;
  }
  return { more, less: undefined };
}

function explainIndentation(found: Found): string {
  const own = measureIndentation(found.content);
  const { more, less } = findLevels(found);
  if (
    less?.indentation === own &&
    less.content.trim().startsWith('-') !== found.content.trim().startsWith('-')
  )
    return explainBesideOthers(found);
  const places = [more, less].flatMap((level) =>
    level === undefined || level.indentation === own
      ? []
      : [`${level.indentation} as ${nameLine(level.content)} in line ${level.line}`],
  );
  const use = places.length === 0 ? 'indent it as the lines beside it' : `use ${places.join(', or ')}`;
  return `the line is indented by ${own} ${own === 1 ? 'space' : 'spaces'}, which fits no line above: ${use}`;
}

function explainBesideOthers({ content }: Found): string {
  return content.trim().startsWith('-')
    ? 'an item of a list stands beside keys: remove its dash, or indent it below the key of its list'
    : 'a key stands beside the items of a list: write a dash before it, or indent it as the key of the list';
}

/** `a: b: c`, or a value with deeper lines below. */
function explainSecondColon({ lines, line, column, content }: Found): string {
  const value = content.slice(column - 1).trim();
  const name = nameLine(content);
  if (value.includes(': ') || value.endsWith(':'))
    return `the value of ${name} has a colon: put it in quotes, as in ${quote(`${name.slice(1, -1)}: '${value}'`)}`;
  const below = lines.findIndex((each, index) => index >= line && each.trim() !== '');
  return `${name} has a value, so line ${below + 1} cannot be indented below it: give both lines the same indentation`;
}

function explainAfterValue(found: Found): string {
  const mark = found.text[found.offset - 1];
  if (mark === "'") return "a text ends at its second quote: write '' for a quote inside of '…'";
  if (mark === '"') return 'a text ends at its second quote: write \\" for a quote inside of "…"';
  const { more, less } = findLevels(found);
  const isBesideList = [more, less].some((level) => level?.content.trim().startsWith('-'));
  return isBesideList ? explainBesideOthers(found) : unknown;
}

function explainTextInHeader({ content }: Found): string {
  const name = nameLine(content);
  return `the text of ${name} begins in the line after | or >: move what stands behind it there, indented below ${name}`;
}

function explainClosing({ text, offset }: Found): string {
  return `${text[offset]} closes nothing: remove it, or put the value in quotes`;
}

function explainFirstCharacter({ text, offset, content, column }: Found): string {
  const value = content.slice(column - 1).trim();
  return `a value must not begin with ${text[offset]}: put it in quotes, as in '${quote(value).slice(1, -1)}'`;
}
