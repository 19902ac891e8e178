/** Checks the data flow of a transformation. */
import { findDefinition } from '../components/registry.ts';
import type { Suggestions } from '../format/nearest.ts';
import type { Transformation, TransformationComponent } from '../format/pipeline.ts';
import { sortTopologically } from '../plan/graph.ts';
import { findNeeded } from '../plan/reach.ts';
import { findSources } from '../plan/transformation-plan.ts';
import type { Planned } from '../plan/transformation-statements.ts';
import type { Notes, Report } from './finding.ts';
import { checkedDialect, hasExpression, planKnownParameters } from './validate-plan.ts';

/** `faulty`: components that already have an error. */
export function checkTransformation(
  transformation: Transformation,
  { report }: Notes,
  faulty: ReadonlySet<string>,
  suggest: Suggestions,
): void {
  const { components } = transformation;
  const wrong = new Set(faulty);
  for (const component of components.values())
    if (!checkSources(component, transformation, report, suggest)) wrong.add(component.name);
  const needed = findNeeded(transformation);
  const circular = checkSourceCycles(transformation, needed, report);
  checkOutputs(transformation, needed, report);
  if (!circular) checkPlans(transformation, needed, wrong, report);
}

function listOutputs({ components }: Transformation): TransformationComponent[] {
  return [...components.values()].filter(({ type }) => {
    const definition = findDefinition(type);
    return definition?.kind === 'transformation' && definition.output;
  });
}

function checkOutputs(transformation: Transformation, needed: ReadonlySet<string>, report: Report): void {
  for (const { name, type } of transformation.components.values()) {
    if (findDefinition(type)?.kind !== 'transformation' || needed.has(name)) continue;
    const message = 'the component never runs, because its rows lead to no output: connect or remove it';
    report({ component: name, code: 'unused-component', message, level: 'warning' });
  }
  if (listOutputs(transformation).length > 0) return;
  const message =
    'the transformation writes nothing, its rows are only computed: add a rewrite-table or a table-output';
  report({ at: ['pipeline', 'components'], code: 'missing-output', message, level: 'warning' });
}

/**
 * Returns whether needed components form a cycle. A cycle that leads to no output does not prevent planning.
 */
function checkSourceCycles(
  { components }: Transformation,
  needed: ReadonlySet<string>,
  report: Report,
): boolean {
  const reportCycle = (names: readonly string[]) => {
    const message = `the sources form a cycle: ${names.join(' → ')}: disconnect one`;
    const component = names[0] ?? '';
    report({ component, at: ['sources'], code: 'source-cycle', message, level: 'error' });
  };
  const findCycle = (wanted: boolean) =>
    sortTopologically(new Map([...components].filter(([name]) => needed.has(name) === wanted))).cycle;
  const harmless = findCycle(false);
  if (harmless !== undefined) reportCycle(harmless);
  const cycle = findCycle(true);
  if (cycle !== undefined) reportCycle(cycle);
  return cycle !== undefined;
}

/** Returns whether all sources exist and their number is right. */
function checkSources(
  component: TransformationComponent,
  { components }: Transformation,
  report: Report,
  suggest: Suggestions,
): boolean {
  const place = { component: component.name, at: ['sources'] };
  const missing = component.sources.filter((each) => !components.has(each));
  for (const source of missing) {
    const remedy = suggest(source, () => components.keys(), 'name another one');
    const message = `the source "${source}" is not a component of this pipeline: ${remedy}`;
    report({ ...place, code: 'dangling-source', message, level: 'error' });
  }
  const definition = findDefinition(component.type);
  if (definition?.kind !== 'transformation') return missing.length === 0;
  const [least, most] = definition.sources;
  const count = component.sources.length;
  if (count >= least && count <= most) return missing.length === 0;
  const takes = least === most ? `${least}` : `at least ${least}`;
  const message = `the component has ${count} sources but takes ${takes}: change the list of its sources`;
  report({ ...place, code: 'source-count', message, level: 'error' });
  return false;
}

/** Plans each component from the columns of its sources. Skips components whose source cannot be planned. */
function checkPlans(
  transformation: Transformation,
  needed: ReadonlySet<string>,
  wrong: ReadonlySet<string>,
  report: Report,
): void {
  const components = new Map([...transformation.components].filter(([name]) => needed.has(name)));
  const relations = new Map<string, Planned>();
  const open = new Set<string>();
  for (const name of sortTopologically(components).order ?? []) {
    const component = components.get(name);
    const definition = component && findDefinition(component.type);
    if (component === undefined || definition?.kind !== 'transformation' || wrong.has(name)) continue;
    if (hasExpression(component.parameters) || component.sources.some((source) => open.has(source)))
      open.add(name);
    const planned = planKnownParameters(
      component,
      definition.parameters,
      report,
      (parameters) => {
        const sources = findSources(component, definition, transformation, relations, checkedDialect);
        if (sources === undefined) return undefined;
        const context = { parameters, component: name, dialect: checkedDialect, sources };
        return definition.output ? definition.plan(context).written : definition.plan(context);
      },
      open.has(name),
    );
    if (planned !== undefined) relations.set(name, { ...planned, cte: name, reads: [] });
  }
}
