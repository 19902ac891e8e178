// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
/** Rules about names: of pipelines, components and variables. */
import { type PipelineRule, quote } from './rule.ts';

const patternParameter = (about: string, standard: string) =>
  ({ regexMatchPattern: { kind: 'pattern', about, standard } }) as const;

export const pipelineNames: PipelineRule = {
  id: 'pipeline-naming-convention',
  scope: 'pipeline',
  title: 'The name of a pipeline follows the convention',
  level: 'INFO',
  reason:
    'Names of pipelines stand in schedules, executions, alerts and calls. Characters such as `#`, `%` or a leading blank must be escaped in addresses and scripts, and a name such as `New pipeline 2` says nothing.',
  remedy: 'Rename the file, and the pipeline in the components and schedules that call it.',
  parameters: patternParameter(
    'What the whole name of the file must match, without folders and extension.',
    '[A-Za-z0-9][A-Za-z0-9 _.()&-]{0,98}[A-Za-z0-9_)]|[A-Za-z0-9]',
  ),
  bad: {
    files: { 'load #1.orch.yaml': 'type: orchestration\npipeline:\n  components:\n    Start: {type: start}' },
  },
  good: {
    files: {
      'load orders.orch.yaml': 'type: orchestration\npipeline:\n  components:\n    Start: {type: start}',
    },
  },
  check({ pipeline }, report, options) {
    const name = pipeline.name.slice(pipeline.name.lastIndexOf('/') + 1);
    if (options.matches('regexMatchPattern', name)) return;
    const message = `the name of the pipeline, ${quote(name)}, does not match ${options.pattern('regexMatchPattern')}: rename the file`;
    report({ message });
  },
};

export const componentNames: PipelineRule = {
  id: 'component-naming-convention',
  scope: 'pipeline',
  title: 'The names of components follow the convention',
  level: 'INFO',
  reason:
    'The name of a component stands in the steps of an execution, in error messages and in `$T{…}`. By default a name begins with a letter or digit and has at most 100 characters.',
  remedy: 'Rename the component, and correct the transitions and sources that name it.',
  parameters: patternParameter('What the whole name of a component must match.', '[\\p{L}\\p{N}_].{0,99}'),
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: ["  load"]}}
    "  load": {type: sql-script, parameters: {sqlScript: "insert into a values (1)"}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load: {type: sql-script, parameters: {sqlScript: "insert into a values (1)"}}`,
  check({ components }, report, options) {
    for (const { name } of components) {
      if (options.matches('regexMatchPattern', name)) continue;
      const message = `the name of the component ${quote(name)} does not match ${options.pattern('regexMatchPattern')}: rename it`;
      report({ component: name, message });
    }
  },
};

export const variableNames: PipelineRule = {
  id: 'variable-naming-convention',
  scope: 'pipeline',
  title: 'The names of variables follow the convention',
  level: 'WARNING',
  reason:
    'Expressions are JavaScript. A variable whose name is not an identifier, such as `start date`, can only be read as `${start date}` alone, never in a longer expression.',
  remedy: 'Rename the variable, and correct the expressions and calls that name it.',
  parameters: patternParameter('What the whole name of a variable must match.', '[A-Za-z_$][A-Za-z0-9_$]*'),
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start}
  variables:
    start date: {metadata: {type: TEXT}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start}
  variables:
    start_date: {metadata: {type: TEXT}}`,
  check({ pipeline }, report, options) {
    for (const name of pipeline.variables.keys()) {
      if (options.matches('regexMatchPattern', name)) continue;
      const message = `the name of the variable ${quote(name)} does not match ${options.pattern('regexMatchPattern')}: rename it`;
      report({ at: ['pipeline', 'variables', name], message });
    }
  },
};

/** Titles of types that differ from the words of the type. */
const otherTitles: Readonly<Record<string, readonly string[]>> = {
  'sql-executor': ['sqlscript'],
  'sql-script': ['sqlexecutor'],
  'query-to-scalar': ['queryresulttoscalar'],
  'query-to-grid': ['queryresulttogrid'],
  'python-pushdown': ['pythonscript'],
  'modular-api-extract-input-v2': ['customconnector', 'apiextract'],
  'fixed-flow': ['fixedflowinput'],
};

/** Types of which a pipeline usually has one, or whose name says all. */
const plainTypes: ReadonlySet<string> = new Set(['start', 'end-success', 'end-failure', 'and', 'or']);

const squeeze = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Without the vendor's suffix of a type, and without the number or `copy` that an editor adds to a name. */
function isDefaultName(name: string, written: string, type: string): boolean {
  // bounded: a name has at most 255 characters
  const bare = squeeze(name).replace(/(?:copy)?\d*$/, '');
  const titles = [squeeze(written), squeeze(type), ...(otherTitles[type] ?? [])];
  return titles.includes(bare) || titles.includes(squeeze(name));
}

export const defaultNames: PipelineRule = {
  id: 'default-component-names',
  scope: 'pipeline',
  title: 'Components do not keep the name that the editor gave them',
  level: 'INFO',
  reason:
    'Steps, errors and alerts name the component. “`Calculator 3` failed” does not say what failed; “`Net price` failed” does.',
  remedy: 'Name the component by what it does.',
  parameters: {},
  bad: `type: transformation
pipeline:
  components:
    Table Input 1: {type: table-input, parameters: {targetTable: orders, columnNames: [id]}}`,
  good: `type: transformation
pipeline:
  components:
    Orders: {type: table-input, parameters: {targetTable: orders, columnNames: [id]}}`,
  check({ components }, report) {
    for (const { name, type, component } of components) {
      if (plainTypes.has(type) || !isDefaultName(name, component.type, type)) continue;
      const message = `the component ${quote(name)} has the name that an editor gives to the type ${component.type}: name it by what it does`;
      report({ component: name, message });
    }
  },
};
