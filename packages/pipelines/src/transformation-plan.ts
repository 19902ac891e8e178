/**
 * Compiles a transformation to SQL: one statement or transaction for each output component. Each component
 * that the output needs becomes a CTE named after it.
 */
import type { Relation, Source, TransformationDefinition } from './components/component.ts';
import { listParametersWithoutEffect, renameParameters } from './components/declared-parameters.ts';
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
  /** Given parameters of the output and its inputs that have no effect here. */
  readonly withoutEffect: readonly string[];
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
  const withoutEffect = new Map<string, readonly string[]>();
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
      const values = renameParameters(await resolve(component), definition.parameters);
      withoutEffect.set(name, listParametersWithoutEffect(values, definition.parameters));
      const context = {
        parameters: createParameters(values),
        component: name,
        dialect,
        sources,
      };
      if (definition.output) {
        const { select, write } = definition.plan(context);
        const inputs = findInputs(name, components);
        const chain = renderWith(
          order.filter((each) => inputs.has(each)),
          relations,
          dialect,
        );
        const unused = [...inputs, name].flatMap((each) =>
          (withoutEffect.get(each) ?? []).map((parameter) => `${parameter} of "${each}"`),
        );
        outputs.push({ component: name, type, withoutEffect: unused, ...write(`${chain}${select}`) });
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

/** The components whose rows reach the output. */
function findInputs(output: string, components: ReadonlyMap<string, TransformationComponent>): Set<string> {
  const inputs = new Set<string>();
  const open = [...(components.get(output)?.sources ?? [])];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (inputs.has(name)) continue;
    inputs.add(name);
    open.push(...(components.get(name)?.sources ?? []));
  }
  return inputs;
}

function renderWith(
  inputs: readonly string[],
  relations: ReadonlyMap<string, Planned>,
  dialect: Dialect,
): string {
  const parts = inputs.flatMap((name) => {
    const relation = relations.get(name);
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
