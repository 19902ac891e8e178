/** The rows of one source that another has, or has not. Equal rows are kept once. */
import { ParameterError } from '../expressions/parameters.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import type { Relation, Source, TransformationDefinition } from './definition/component.ts';
import { textParameter, yesNoParameter } from './definition/declared-parameters.ts';
import { isSameName } from './definition/plan-parts.ts';

const castTypes = yesNoParameter('Columns of different types are cast to a common type in both cases.', 'No');

export const except: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about:
    'The rows of the primary source that no other source has. Equal rows are kept once. All sources need the same columns.',
  group: 'transform',
  parameters: {
    primaryTable: textParameter('The primary source. None: the first one.'),
    castTypes,
  },
  aliases: ['minus'],
  example: `type: except
sources: [All customers, Blocked customers]
parameters:
  primaryTable: All customers`,
  sources: [2, Number.POSITIVE_INFINITY],
  plan({ parameters, dialect, sources }) {
    parameters.yes('castTypes', false);
    const primaryName = parameters.optionalText('primaryTable');
    const primary =
      primaryName === undefined ? sources[0] : sources.find(({ component }) => component === primaryName);
    if (primary === undefined)
      throw new ParameterError(`"primaryTable" is "${primaryName}", which is not a source: name a source`);
    const others = sources.filter((source) => source !== primary);
    return combine([primary, ...others], 'EXCEPT', dialect);
  },
};

export const intersect: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'The rows that all sources have. Equal rows are kept once. All sources need the same columns.',
  group: 'transform',
  parameters: { castTypes },
  example: `type: intersect
sources: [Customers of Europe, Customers of Asia]
parameters:
  castTypes: "Yes"`,
  sources: [2, Number.POSITIVE_INFINITY],
  plan({ parameters, dialect, sources }) {
    parameters.yes('castTypes', false);
    return combine(sources, 'INTERSECT', dialect);
  },
};

/** SQL matches columns by position, so they are listed in the order of the first source if they are known. */
function combine(sources: readonly Source[], operation: string, dialect: Dialect): Relation {
  const columns = sources[0]?.columns;
  const isKnown =
    columns !== undefined &&
    sources.every(
      (source) =>
        source.columns?.length === columns.length &&
        columns.every((column) => source.columns?.some((each) => isSameName(each, column))),
    );
  const list = isKnown ? columns.map(dialect.name).join(', ') : '*';
  const selects = sources.map(({ name }) => `SELECT ${list} FROM ${name}`);
  return { select: selects.join(`\n${operation}\n`), columns };
}
