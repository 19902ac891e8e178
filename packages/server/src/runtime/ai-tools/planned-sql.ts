/** The SQL of a transformation, without a run: expressions are not evaluated, only names are replaced. */
import { queryWarehouse } from '@headgate/contract';
import {
  duckdb,
  ParameterError,
  type Plain,
  type PlainMap,
  parsePipeline,
  planTransformation,
  type Transformation,
} from '@headgate/pipelines';
import { toCaller } from './actors.ts';
import { quote, requireEnvironment, type ToolServices } from './declared-tool.ts';
import type { ToolContext } from './tool.ts';
import { ToolFault } from './tool-fault.ts';

/** Planning takes the server's time. */
const longestFile = 200_000;
/** Of all values together: a long default value may be named thousands of times. */
const mostCharacters = 1_000_000;

export async function planSql(
  services: ToolServices,
  context: ToolContext,
  path: string,
  text: string,
): Promise<string> {
  if (text.length > longestFile) throw new ToolFault(`${quote(path)} is too long to plan`);
  const { pipeline, error } = parsePipeline(path, text);
  if (pipeline === undefined) throw new ToolFault(`${quote(path)} cannot be read: ${error.message}`);
  if (pipeline.type !== 'transformation')
    throw new ToolFault(`${quote(path)} is an orchestration; only a transformation has SQL of its own`);
  const values: Values = { defaults: readDefaults(pipeline), charactersLeft: mostCharacters };
  const resolve = async ({ parameters }: { parameters: PlainMap }) => {
    context.signal.throwIfAborted();
    return replaceInMap(parameters, values);
  };
  const catalog = { query: (sql: string) => askWarehouse(services, context, sql) };
  const { outputs, failures } = await planTransformation(pipeline, duckdb, resolve, catalog);
  // The plan takes an abort for a fault of a component.
  context.signal.throwIfAborted();
  const planned = outputs.map(
    ({ component, statements }) => `-- ${component}\n${statements.map((each) => `${each};`).join('\n')}`,
  );
  const failed = failures.map(
    ({ component, error: failure }) =>
      `-- ${component} cannot be planned: ${failure instanceof Error ? failure.message : String(failure)}`,
  );
  const all = [...planned, ...failed];
  return all.length === 0 ? 'The transformation writes nothing, so it has no SQL.' : all.join('\n\n');
}

async function askWarehouse({ platform }: ToolServices, context: ToolContext, sql: string) {
  const environmentName = requireEnvironment(context);
  return platform.call(queryWarehouse, toCaller(context), {
    params: { projectId: context.task.projectId },
    body: { environmentName, sql, maxRows: 1_000 },
  });
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
function replaceNames(text: string, values: Values): string {
  return text.replaceAll(/\$\{([^}]*)\}/g, (written, inner: string) => {
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
