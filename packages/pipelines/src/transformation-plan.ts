/**
 * Compiles a transformation to SQL: one statement or transaction for each output component. Each component
 * that the output needs becomes a CTE named after it.
 */
import type { Relation, Source, TransformationDefinition } from './components/component.ts';
import { findDefinition, getTransformationDefinition } from './components/registry.ts';
import { sortTopologically } from './graph.ts';
import { createParameters, ParameterError } from './parameters.ts';
import type { Transformation, TransformationComponent } from './pipeline.ts';
import { findNeeded } from './reach.ts';
import type { ResolvedMap } from './resolve.ts';
import type { Dialect, StatementList } from './sql/dialect.ts';

export interface TransformationPlan {
  /** In the order in which to run them. */
  readonly outputs: readonly PlannedOutput[];
  /** Components that cannot be planned. If there are any, nothing may run. */
  readonly failures: readonly { component: string; type: string; error: unknown }[];
}

export interface PlannedOutput extends StatementList {
  readonly component: string;
  readonly type: string;
}

export interface Planned extends Relation {
  readonly cte: string;
}

/**
 * Plans a transformation. Components that lead to no output are left out.
 *
 * @param resolve returns a component's parameters with expressions evaluated; an error fails the component
 */
export async function planTransformation(
  transformation: Transformation,
  dialect: Dialect,
  resolve: (component: TransformationComponent) => Promise<ResolvedMap>,
): Promise<TransformationPlan> {
  const { path } = transformation;
  const wanted = findNeeded(transformation);
  const components = new Map([...transformation.components].filter(([name]) => wanted.has(name)));
  const sorted = sortTopologically(components);
  const order = sorted.order ?? [...components.keys()];
  const needed = sorted.cycle === undefined ? wanted : new Set(sorted.cycle);
  const names = chooseCteNames(order);
  const relations = new Map<string, Planned>();
  const outputs: PlannedOutput[] = [];
  const failures: { component: string; type: string; error: unknown }[] = [];
  for (const component of order.map((name) => components.get(name)).filter((each) => each !== undefined)) {
    const { name, type } = component;
    if (!needed.has(name)) continue;
    try {
      if (sorted.cycle !== undefined)
        throw new ParameterError(`its sources form a cycle: ${sorted.cycle.join(' → ')}: disconnect one`);
      const definition = getTransformationDefinition(type, path);
      const sources = findSources(component, definition, transformation, relations, dialect);
      // The failure of its source is already recorded.
      if (sources === undefined) continue;
      const context = {
        parameters: createParameters(await resolve(component)),
        component: name,
        dialect,
        sources,
      };
      if (definition.output) {
        const { select, write } = definition.plan(context);
        const chain = renderWith(name, components, order, relations, dialect);
        outputs.push({ component: name, type, ...write(`${chain}${select}`) });
      } else {
        relations.set(name, { ...definition.plan(context), cte: names.get(name) ?? name });
      }
    } catch (error) {
      failures.push({ component: name, type, error });
    }
  }
  return { outputs, failures };
}

/** A CTE has its component's name. SQL ignores case, so names that differ only in case get a number. */
function chooseCteNames(components: readonly string[]): Map<string, string> {
  const taken = new Set<string>();
  const names = new Map<string, string>();
  for (const component of components) {
    let name = component;
    for (let number = 2; taken.has(name.toLowerCase()); number += 1) name = `${component} (${number})`;
    taken.add(name.toLowerCase());
    names.set(component, name);
  }
  return names;
}

export function findSources(
  component: TransformationComponent,
  definition: TransformationDefinition,
  transformation: Transformation,
  relations: ReadonlyMap<string, Planned>,
  dialect: Dialect,
): Source[] | undefined {
  const [least, most] = definition.sources;
  const { sources } = component;
  if (sources.length < least || sources.length > most) {
    const wanted = least === most ? `${least}` : `at least ${least}`;
    throw new ParameterError(
      `it has ${sources.length} sources but takes ${wanted}: change the list of its sources`,
    );
  }
  const found: Source[] = [];
  for (const name of sources) {
    const source = transformation.components.get(name);
    if (source === undefined)
      throw new ParameterError(
        `its source "${name}" is not a component of ${transformation.path}: name another one`,
      );
    const sourceDefinition = findDefinition(source.type);
    if (sourceDefinition?.kind === 'transformation' && sourceDefinition.output) {
      throw new ParameterError(
        `its source "${name}" writes a table and gives no rows: read the table with table-input`,
      );
    }
    const relation = relations.get(name);
    if (relation === undefined) return undefined;
    found.push({ component: name, name: dialect.name(relation.cte), columns: relation.columns });
  }
  return found;
}

function renderWith(
  output: string,
  components: ReadonlyMap<string, TransformationComponent>,
  order: readonly string[],
  relations: ReadonlyMap<string, Planned>,
  dialect: Dialect,
): string {
  const needed = new Set<string>();
  const open = [...(components.get(output)?.sources ?? [])];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (needed.has(name)) continue;
    needed.add(name);
    open.push(...(components.get(name)?.sources ?? []));
  }
  const parts = order.flatMap((name) => {
    const relation = needed.has(name) ? relations.get(name) : undefined;
    return relation === undefined
      ? []
      : [`${dialect.name(relation.cte)} AS (\n${indent(relation.select)}\n)`];
  });
  return parts.length === 0 ? '' : `WITH ${parts.join(',\n')}\n`;
}

/** Indents only the first line: a text literal may span lines. */
function indent(sql: string): string {
  return `  ${sql}`;
}
