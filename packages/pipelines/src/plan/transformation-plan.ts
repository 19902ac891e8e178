/**
 * Compiles a transformation to SQL: one statement or transaction for each output component. Each component
 * that the output needs becomes a CTE named after it.
 */
import type { Source, TransformationDefinition } from '../components/definition/component.ts';
import {
  listParametersWithoutEffect,
  renameParameters,
} from '../components/definition/declared-parameters.ts';
import { getTransformationDefinition } from '../components/registry.ts';
import { createParameters, ParameterError } from '../expressions/parameters.ts';
import type { ResolvedMap } from '../expressions/resolve.ts';
import type { Transformation, TransformationComponent } from '../format/pipeline.ts';
import type { Dialect, StatementList } from '../sql/dialect/dialect.ts';
import { sortTopologically } from './graph.ts';
import { findNeeded, findUnwritten } from './reach.ts';
import { createDiscard, type Planned, renderOutput, renderWith } from './transformation-statements.ts';

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

/** What planning asks the warehouse. */
export interface Catalog {
  query(sql: string): Promise<{ columns: readonly string[]; rows: readonly (readonly unknown[])[] }>;
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
  catalog: Catalog,
): Promise<TransformationPlan> {
  const { path } = transformation;
  const reaching = findNeeded(transformation);
  const components = new Map([...transformation.components].filter(([name]) => reaching.has(name)));
  const sorted = sortTopologically(components);
  const order = sorted.order ?? [...components.keys()];
  const needed = sorted.cycle === undefined ? reaching : new Set(sorted.cycle);
  const unwritten = findUnwritten(transformation);
  const names = chooseCteNames(order);
  const uses = countUses(components);
  const relations = new Map<string, Planned>();
  /** What queries while planning read: nothing is written yet. */
  const previews = new Map<string, Planned>();
  const withoutEffect = new Map<string, readonly string[]>();
  const outputs: PlannedOutput[] = [];
  const failures: { component: string; type: string; error: unknown }[] = [];
  const listWithoutEffect = (output: string) =>
    [...findInputs(output, components), output].flatMap((each) =>
      (withoutEffect.get(each) ?? []).map((parameter) => `${parameter} of "${each}"`),
    );
  for (const component of order.map((name) => components.get(name)).filter((each) => each !== undefined)) {
    const { name, type } = component;
    if (!needed.has(name)) continue;
    try {
      if (sorted.cycle !== undefined)
        throw new ParameterError(`its sources form a cycle: ${sorted.cycle.join(' → ')}: disconnect one`);
      const definition = getTransformationDefinition(type, path);
      const found = findSources(component, definition, transformation, relations, dialect);
      // The failure of its source is already recorded.
      if (found === undefined) continue;
      const sources = found.map((source) => keepProjection(source, uses));
      const values = renameParameters(await resolve(component), definition.parameters);
      withoutEffect.set(name, listParametersWithoutEffect(values, definition.parameters));
      const parameters = createParameters(values);
      const described =
        dialect.namesAllColumns || definition.needsColumns?.(parameters) === true
          ? await describeSources(sources, order, previews, dialect, catalog)
          : sources;
      const input = { parameters, component: name, dialect, sources: described };
      const query = definition.lookUp?.(input);
      const chain = query === undefined ? '' : renderWith(order, component.sources, previews, dialect);
      const rows = query === undefined ? undefined : (await catalog.query(`${chain}${query}`)).rows;
      const context = { ...input, found: rows };
      const cte = names.get(name) ?? name;
      if (definition.output) {
        const output = definition.plan(context);
        const list = renderOutput(output, component.sources, order, relations, dialect);
        outputs.push({ component: name, type, withoutEffect: listWithoutEffect(name), ...list });
        const reads = output.passesOn === true ? component.sources : [];
        relations.set(name, { ...output.written, cte, reads });
        const preview = {
          select: output.select,
          columns: output.written.columns,
          cte,
          reads: component.sources,
        };
        previews.set(name, output.creates === true ? preview : { ...output.written, cte, reads });
      } else {
        const relation = definition.plan(context);
        if (dialect.ignoresCase === true) checkNames(relation.columns ?? []);
        const reads =
          relation.projection === undefined ? component.sources : [relation.projection.base.component];
        relations.set(name, { ...relation, cte, reads });
        previews.set(name, { ...relation, cte, reads });
        if (!unwritten.has(name)) continue;
        const list = renderOutput(createDiscard(cte, relation, dialect), [name], order, relations, dialect);
        const dropped = `the rows of "${name}", which no output writes`;
        outputs.push({
          component: name,
          type,
          withoutEffect: [dropped, ...listWithoutEffect(name)],
          ...list,
        });
      }
    } catch (error) {
      failures.push({ component: name, type, error });
    }
  }
  return { outputs, failures };
}

/** A later component would read the wrong one of two columns. @throws ParameterError */
function checkNames(columns: readonly string[]): void {
  const byName = new Map<string, string>();
  for (const column of columns) {
    const other = byName.get(column.toLowerCase());
    if (other === column) throw new ParameterError(`it has two columns "${column}": rename one of them`);
    if (other !== undefined)
      throw new ParameterError(
        `its columns "${other}" and "${column}" differ only in case, which the warehouse ignores: rename one of them`,
      );
    byName.set(column.toLowerCase(), column);
  }
}

function countUses(components: ReadonlyMap<string, TransformationComponent>): Map<string, number> {
  const uses = new Map<string, number>();
  for (const { sources } of components.values())
    for (const source of sources) uses.set(source, (uses.get(source) ?? 0) + 1);
  return uses;
}

/** Rows that several components read are made once, so only one reader may take over how they are made. */
function keepProjection(source: Source, uses: ReadonlyMap<string, number>): Source {
  if (uses.get(source.component) === 1) return source;
  const { component, name, columns } = source;
  return { component, name, columns };
}

async function describeSources(
  sources: readonly Source[],
  order: readonly string[],
  relations: ReadonlyMap<string, Planned>,
  dialect: Dialect,
  catalog: Catalog,
): Promise<Source[]> {
  const described: Source[] = [];
  for (const source of sources) {
    const { component, name } = source;
    if (source.columns === undefined) {
      const query = `${renderWith(order, [component], relations, dialect)}SELECT * FROM ${name} LIMIT 0`;
      const { columns } = await catalog.query(query);
      described.push({ component, name, columns });
    } else described.push(source);
  }
  return described;
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
    const expected = least === most ? `${least}` : `at least ${least}`;
    throw new ParameterError(
      `it has ${sources.length} sources but takes ${expected}: change the list of its sources`,
    );
  }
  const found: Source[] = [];
  for (const name of sources) {
    const source = transformation.components.get(name);
    if (source === undefined)
      throw new ParameterError(
        `its source "${name}" is not a component of ${transformation.path}: name another one`,
      );
    const relation = relations.get(name);
    if (relation === undefined) return undefined;
    const { columns, projection } = relation;
    const base = { component: name, name: dialect.name(relation.cte), columns };
    found.push(projection === undefined ? base : { ...base, projection });
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
