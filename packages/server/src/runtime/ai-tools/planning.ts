/** Plans the SQL of a transformation, in a thread: expressions are not evaluated, only names are replaced. */
import {
  createPostgres,
  createSnowflake,
  duckdb,
  ParameterError,
  type Plain,
  type PlainMap,
  parsePipeline,
  planTransformation,
  type Transformation,
} from '@headgate/pipelines';

type Catalog = Parameters<typeof planTransformation>[3];
type Rows = Awaited<ReturnType<Catalog['query']>>;

export interface PlanOrder {
  path: string;
  text: string;
  /** `schema`: that of names without one. */
  warehouse: { kind: 'duckdb' } | { kind: 'postgres' | 'snowflake'; schema: string };
  /** What the warehouse answered, by query. */
  answers: ReadonlyMap<string, Rows | { failure: string }>;
}

/** `queries`: the plan needs their answers; it must be made again with them. */
export type SqlPlan = { text: string } | { fault: string } | { queries: readonly string[] };

/** Of all values together: a long default value may be named thousands of times. */
const mostCharacters = 1_000_000;

function chooseDialect(warehouse: PlanOrder['warehouse']) {
  if (warehouse.kind === 'duckdb') return duckdb;
  return warehouse.kind === 'postgres' ? createPostgres(warehouse) : createSnowflake(warehouse);
}

export async function planOnce({ path, text, warehouse, answers }: PlanOrder): Promise<SqlPlan> {
  const shown = JSON.stringify(path);
  const { pipeline, error } = parsePipeline(path, text);
  if (pipeline === undefined) return { fault: `${shown} cannot be read: ${error.message}` };
  if (pipeline.type !== 'transformation')
    return { fault: `${shown} is an orchestration; only a transformation has SQL of its own` };
  const dialect = chooseDialect(warehouse);
  const values: Values = { defaults: readDefaults(pipeline), charactersLeft: mostCharacters };
  const queries = new Set<string>();
  const catalog: Catalog = {
    async query(sql) {
      if (warehouse.kind !== 'duckdb')
        throw new Error(
          'it needs the columns of a table, which are known in a run: name them, as in "columnNames"',
        );
      const answer = answers.get(sql);
      if (answer === undefined) queries.add(sql);
      // Only this component fails, so one plan finds the queries of all components that need no other answer.
      if (answer === undefined || 'failure' in answer) throw new Error(answer?.failure ?? 'not answered yet');
      return answer;
    },
  };
  const resolve = async ({ parameters }: { parameters: PlainMap }) => replaceInMap(parameters, values);
  const { outputs, failures } = await planTransformation(pipeline, dialect, resolve, catalog);
  if (queries.size > 0) return { queries: [...queries] };
  const planned = outputs.map(
    ({ component, statements }) => `-- ${component}\n${statements.map((each) => `${each};`).join('\n')}`,
  );
  const failed = failures.map(
    ({ component, error: failure }) =>
      `-- ${component} cannot be planned: ${failure instanceof Error ? failure.message : String(failure)}`,
  );
  const all = [...planned, ...failed];
  return {
    text: all.length === 0 ? 'The transformation writes nothing, so it has no SQL.' : all.join('\n\n'),
  };
}

type Defaults = ReadonlyMap<string, string>;
interface Values {
  defaults: Defaults;
  charactersLeft: number;
}

function readDefaults({ variables }: Transformation): Defaults {
  return new Map(
    [...variables.values()].flatMap(({ name, defaultValue }): [string, string][] =>
      typeof defaultValue === 'string' || typeof defaultValue === 'number'
        ? [[name, String(defaultValue)]]
        : [],
    ),
  );
}

function replaceInMap(map: PlainMap, values: Values): PlainMap {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, replaceIn(value, values)]));
}

function replaceIn(value: Plain, values: Values): Plain {
  if (typeof value === 'string') return replaceNames(value, values);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => replaceIn(each, values));
  if ('fromGrid' in value) throw new ParameterError('the rows of a grid variable are known only in a run');
  return replaceInMap(value as PlainMap, values);
}

/** Expressions are code of a tenant, which only an agent evaluates. */
export function replaceNames(text: string, values: Values): string {
  // One without an end goes on to the end of the text, so that it is read only once.
  return text.replaceAll(/\$\{([^}]*)(\}?)/g, (written, inner: string, end: string) => {
    if (end === '') return written;
    const found = values.defaults.get(inner.trim());
    if (found === undefined) throw new ParameterError(`${written} is known only in a run`);
    values.charactersLeft -= found.length;
    if (values.charactersLeft < 0)
      throw new ParameterError(
        `the values of the variables have more than ${mostCharacters} characters in all`,
      );
    return found;
  });
}
