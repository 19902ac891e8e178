/** The data flow of a transformation. */
import { findDefinition } from './components/registry.ts';
import type { Report } from './finding.ts';
import { topologicalOrder } from './graph.ts';
import type { Transformation, TransformationComponent } from './pipeline.ts';

export function checkTransformation(transformation: Transformation, report: Report): void {
  const { components } = transformation;
  for (const component of components.values()) checkSources(component, transformation, report);
  const { cycle } = topologicalOrder(components);
  if (cycle !== undefined) {
    const message = `the sources go round in a circle: ${cycle.join(' → ')}`;
    report({ component: cycle[0] ?? '', code: 'source-cycle', message, level: 'error' });
  }
  const used = new Set([...components.values()].flatMap(({ sources }) => sources));
  let outputs = 0;
  for (const { name, type } of components.values()) {
    const definition = findDefinition(type);
    if (definition?.kind !== 'transformation') continue;
    if (definition.output) outputs += 1;
    else if (!used.has(name)) {
      report({
        component: name,
        code: 'unused-component',
        message: 'its rows lead to no output: it never runs',
        level: 'warning',
      });
    }
  }
  if (outputs === 0) {
    const message = 'the transformation writes nothing: add a rewrite-table or a table-output';
    report({ code: 'missing-output', message, level: 'warning' });
  }
}

function checkSources(
  component: TransformationComponent,
  transformation: Transformation,
  report: Report,
): void {
  for (const source of component.sources.filter((each) => !transformation.components.has(each))) {
    const message = `its source "${source}" is no component of this pipeline`;
    report({ component: component.name, code: 'dangling-source', message, level: 'error' });
  }
  const definition = findDefinition(component.type);
  if (definition?.kind !== 'transformation') return;
  const [least, most] = definition.sources;
  const count = component.sources.length;
  if (count >= least && count <= most) return;
  const message = `it has ${count} sources and takes ${least === most ? least : `at least ${least}`}`;
  report({ component: component.name, code: 'source-count', message, level: 'error' });
}
