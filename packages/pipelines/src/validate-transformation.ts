/** The data flow of a transformation. */
import { findDefinition } from './components/registry.ts';
import type { Notes, Report } from './finding.ts';
import { topologicalOrder } from './graph.ts';
import type { Suggestions } from './nearest.ts';
import type { Transformation, TransformationComponent } from './pipeline.ts';
import { neededComponents } from './reach.ts';
import { type Planned, sourcesOf } from './transformation-plan.ts';
import { checkedDialect, holdsExpression, planKnown } from './validate-plan.ts';

/** `faulty`: components that have an error of their own. */
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
  const needed = neededComponents(transformation);
  const circular = checkSourceCycles(transformation, needed, report);
  checkOutputs(transformation, needed, report);
  if (!circular) checkPlans(transformation, needed, wrong, report);
}

function outputsOf({ components }: Transformation): TransformationComponent[] {
  return [...components.values()].filter(({ type }) => {
    const definition = findDefinition(type);
    return definition?.kind === 'transformation' && definition.output;
  });
}

function checkOutputs(transformation: Transformation, needed: ReadonlySet<string>, report: Report): void {
  for (const { name, type } of transformation.components.values()) {
    if (findDefinition(type)?.kind !== 'transformation' || needed.has(name)) continue;
    const message = 'its rows lead to no output: it never runs';
    report({ component: name, code: 'unused-component', message, level: 'warning' });
  }
  if (outputsOf(transformation).length > 0) return;
  const message = 'the transformation writes nothing: add a rewrite-table or a table-output';
  report({ at: ['pipeline', 'components'], code: 'missing-output', message, level: 'error' });
}

/** Whether what is needed goes round; a circle that leads to no output harms nothing. */
function checkSourceCycles(
  { components }: Transformation,
  needed: ReadonlySet<string>,
  report: Report,
): boolean {
  const tell = (names: readonly string[]) => {
    const message = `the sources go round in a circle: ${names.join(' → ')}: disconnect one`;
    const component = names[0] ?? '';
    report({ component, at: ['sources'], code: 'source-cycle', message, level: 'error' });
  };
  const among = (wanted: boolean) =>
    topologicalOrder(new Map([...components].filter(([name]) => needed.has(name) === wanted))).cycle;
  const harmless = among(false);
  if (harmless !== undefined) tell(harmless);
  const cycle = among(true);
  if (cycle !== undefined) tell(cycle);
  return cycle !== undefined;
}

/** Whether the sources are there, and as many as the component takes. */
function checkSources(
  component: TransformationComponent,
  { components }: Transformation,
  report: Report,
  suggest: Suggestions,
): boolean {
  const place = { component: component.name, at: ['sources'] };
  const missing = component.sources.filter((each) => !components.has(each));
  for (const source of missing) {
    const remedy = suggest(source, () => components.keys(), 'connect another one');
    const message = `its source "${source}" is no component of this pipeline: ${remedy}`;
    report({ ...place, code: 'dangling-source', message, level: 'error' });
  }
  const definition = findDefinition(component.type);
  if (definition?.kind !== 'transformation') return missing.length === 0;
  const [least, most] = definition.sources;
  const count = component.sources.length;
  if (count >= least && count <= most) return missing.length === 0;
  const takes = least === most ? `${least}` : `at least ${least}`;
  const message = `it has ${count} sources and takes ${takes}: ${count < least ? 'connect' : 'disconnect'} some`;
  report({ ...place, code: 'source-count', message, level: 'error' });
  return false;
}

/** Plans each component over the columns of its sources; one whose source cannot be planned is left out. */
function checkPlans(
  transformation: Transformation,
  needed: ReadonlySet<string>,
  wrong: ReadonlySet<string>,
  report: Report,
): void {
  const components = new Map([...transformation.components].filter(([name]) => needed.has(name)));
  const relations = new Map<string, Planned>();
  const open = new Set<string>();
  for (const name of topologicalOrder(components).order ?? []) {
    const component = components.get(name);
    const definition = component && findDefinition(component.type);
    if (component === undefined || definition?.kind !== 'transformation' || wrong.has(name)) continue;
    if (holdsExpression(component.parameters) || component.sources.some((source) => open.has(source)))
      open.add(name);
    const planned = planKnown(
      component,
      report,
      (parameters) => {
        const sources = sourcesOf(component, definition, transformation, relations, checkedDialect);
        if (sources === undefined) return undefined;
        const context = { parameters, component: name, dialect: checkedDialect, sources };
        const plan = definition.plan(context);
        return 'columns' in plan ? plan : undefined;
      },
      open.has(name),
    );
    if (planned !== undefined) relations.set(name, { ...planned, cte: name });
  }
}
