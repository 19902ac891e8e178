/** Rules about descriptions: of pipelines, variables and components. */
import { getMap, listTexts } from '../facts/reviewed-pipeline.ts';
import { listNames, type PipelineRule, quote } from './rule.ts';

export const pipelineDescription: PipelineRule = {
  id: 'pipeline-description',
  scope: 'pipeline',
  title: 'A pipeline has a description',
  level: 'INFO',
  reason:
    'The notes of a pipeline are its description in the list of published pipelines. Without one, only its author knows what it is for.',
  remedy: 'Add a note to the pipeline that says what it does and who uses the result.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load: {type: run-transformation, parameters: {transformationJob: load}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load: {type: run-transformation, parameters: {transformationJob: load}}
design:
  notes:
    about: {content: Loads the orders of the day. Sales reads them.}`,
  check({ pipeline }, report) {
    if (pipeline.description !== '' || pipeline.components.size === 0) return;
    report({ message: 'the pipeline has no description: add a note that says what it does' });
  },
};

export const variableDescription: PipelineRule = {
  id: 'variable-description',
  scope: 'pipeline',
  title: 'A variable has a description',
  level: 'INFO',
  reason:
    'Who calls or schedules the pipeline sets its variables, and sees nothing but their names and descriptions.',
  remedy: 'Fill in `metadata.description` of the variable.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start}
  variables:
    days: {metadata: {type: NUMBER, description: ""}, defaultValue: "7"}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start}
  variables:
    days: {metadata: {type: NUMBER, description: How many days are loaded}, defaultValue: "7"}`,
  check({ pipeline, value }, report) {
    const declared = getMap(getMap(getMap(value).pipeline).variables);
    const without = [...pipeline.variables.keys()].filter((name) => {
      const { description } = getMap(getMap(declared[name]).metadata);
      return typeof description !== 'string' || description.trim() === '';
    });
    const [first] = without;
    if (first === undefined) return;
    const have = without.length === 1 ? 'variable has' : 'variables have';
    const message = `${without.length} ${have} no description: ${listNames(without)}: fill in metadata.description`;
    report({ at: ['pipeline', 'variables', first], message });
  },
};

// not SQL: the beginning of a comment in any language
const comment = /^\s*(?:--|\/\*|\/\/|#|"""|''')/;

export const componentDescription: PipelineRule = {
  id: 'component-description',
  scope: 'pipeline',
  title: 'A component with much code has a description',
  level: 'INFO',
  reason:
    'A long script or query does not say what it is for. A comment at its beginning does, and is seen where the code is.',
  remedy: 'Begin the script or query with a comment, or fill in `description` of the component.',
  parameters: {
    minLines: {
      kind: 'integer',
      about: 'Lines of code from which a description is needed.',
      standard: 20,
      least: 1,
      most: 10_000,
    },
  },
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load:
      type: sql-script
      parameters:
        sqlScript: |
${'          insert into a values (1);\n'.repeat(20)}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load:
      type: sql-script
      parameters:
        sqlScript: |
          -- The rows that the tests of the warehouse need.
${'          insert into a values (1);\n'.repeat(20)}`,
  check({ components }, report, options) {
    for (const { name, parameters, raw } of components) {
      const { description } = getMap(raw);
      if (typeof description === 'string' && description.trim() !== '') continue;
      for (const { path, text } of listTexts(parameters)) {
        const lines = text.trim().split('\n').length;
        if (lines < options.integer('minLines') || comment.test(text)) continue;
        const message = `the component ${quote(name)} has ${lines} lines in ${quote(String(path[0]))} and no description: begin them with a comment that says what they do`;
        report({ component: name, at: ['parameters', String(path[0])], message });
        break;
      }
    }
  },
};
