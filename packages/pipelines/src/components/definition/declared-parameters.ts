/**
 * The declaration of a component's parameters: one source for the checks of names, the documentation and the
 * JSON Schema.
 */

export type ParameterKind =
  /** A single value. */
  | 'text'
  | 'number'
  /** Yes or No. */
  | 'yes-no'
  /** One of `words`. */
  | 'choice'
  /** SQL of the user. */
  | 'sql'
  /** JavaScript, evaluated when the component runs. */
  | 'expression'
  /** A list of names. */
  | 'names'
  /** A list of rows; `cells` names their cells. */
  | 'rows'
  /** A map, or a list of maps. */
  | 'map';

export interface ParameterDeclaration {
  readonly kind: ParameterKind;
  /** One sentence for the documentation, in Markdown. */
  readonly about: string;
  readonly required?: true;
  /** The words of a choice, as the documentation spells them. Case does not matter. */
  readonly words?: readonly string[];
  /** The cells of a row. A name that ends with `?` may be left out. */
  readonly cells?: readonly string[];
  /** The value that is used if it is absent. */
  readonly standard?: string;
  /** Other names that files use for it. */
  readonly otherNames?: readonly string[];
  /** It holds expressions that the component evaluates itself, so they are not resolved before planning. */
  readonly raw?: true;
  /** It is a program, in which `${…}` may be the program's own. */
  readonly script?: true;
  /** It names a file of the artifact. */
  readonly file?: true;
  /** The file may be one at an address of https. */
  readonly address?: true;
  /**
   * It names variables: the value, each name of a list, or the cell with this index of each row. `as`: what
   * they must be; absent: any.
   */
  readonly variable?: { readonly as?: 'scalar' | 'grid'; readonly cell?: number };
}

export type ParameterTable = Readonly<Record<string, ParameterDeclaration>>;

type Details = Omit<ParameterDeclaration, 'kind' | 'about'>;
type Declare = (about: string, details?: Details) => ParameterDeclaration;

const declareKind =
  (kind: ParameterKind): Declare =>
  (about, details = {}) => ({ kind, about, ...details });

export const textParameter = declareKind('text');
export const numberParameter = declareKind('number');
export const sqlParameter = declareKind('sql');
export const expressionParameter = declareKind('expression');
export const namesParameter = declareKind('names');
export const mapParameter = declareKind('map');

export function yesNoParameter(
  about: string,
  standard: 'Yes' | 'No',
  details: Details = {},
): ParameterDeclaration {
  return { kind: 'yes-no', about, standard, ...details };
}

export function choiceParameter(
  about: string,
  words: readonly string[],
  details: Details = {},
): ParameterDeclaration {
  return { kind: 'choice', about, words, ...details };
}

export function rowsParameter(
  about: string,
  cells: readonly string[],
  details: Details = {},
): ParameterDeclaration {
  return { kind: 'rows', about, cells, ...details };
}

/** Where the table is. */
export const placeParameters = {
  database: textParameter('The database. Empty or `[Environment Default]`: the environment’s.'),
  schema: textParameter('The schema. Empty or `[Environment Default]`: the environment’s.'),
};

export const orderParameter = rowsParameter(
  'The order of the rows. NULL is the largest value unless Nulls First or Nulls Last says otherwise.',
  ['column', 'Ascending or Descending?', 'Nulls First or Nulls Last?'],
);

export const conditionCells = ['column', 'Is or Not', 'comparator', 'value'];

/** The cells of a table's column. */
export const columnCells = [
  'name',
  'type',
  'size?',
  'precision?',
  'default?',
  'not null?',
  'unique?',
  'comment?',
];

export function listParameterNames(
  table: ParameterTable,
  flag: 'required' | 'raw' | 'script' | 'file' | 'address',
): readonly string[] {
  return Object.entries(table).flatMap(([name, declaration]) => (declaration[flag] === true ? [name] : []));
}

/** The values by the declared names. A value under the declared name wins over one under another name. */
export function renameParameters<T>(
  values: Readonly<Record<string, T>>,
  table: ParameterTable,
): Readonly<Record<string, T>> {
  const renamed: Record<string, T> = { ...values };
  for (const [name, { otherNames = [] }] of Object.entries(table)) {
    for (const other of otherNames) {
      if (!Object.hasOwn(renamed, other) || Object.hasOwn(table, other)) continue;
      if (isWithoutValue(renamed[name])) renamed[name] = renamed[other] as T;
      delete renamed[other];
    }
  }
  return renamed;
}

/** Undeclared parameters that have a value. They have no effect. */
export function listParametersWithoutEffect(
  values: Readonly<Record<string, unknown>>,
  table: ParameterTable,
): string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    Object.hasOwn(table, name) || name === 'componentName' || isWithoutValue(value) ? [] : [name],
  );
}

const placeholders: readonly unknown[] = [undefined, null, '', '[Environment Default]', '[Custom]'];

function isWithoutValue(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return placeholders.includes(value);
}
