/**
 * Checks a project file by file, so that only one file is in memory at a time.
 *
 * - **outline**: the declarations and notes of one pipeline file.
 * - **note**: a finding that needs no other file, or a question that only other files can answer (link.ts).
 */

import {
  listSharedPipelineUses,
  type SharedPipelineUse,
} from '../components/definition/shared-pipeline-use.ts';
import { findDefinition } from '../components/registry.ts';
import { findingMessageLimit, noteLimit, referenceLimit } from '../format/bounds.ts';
import { type LineOf, type PipelineSyntaxError, parsePipeline } from '../format/parse.ts';
import type { Pipeline, PipelineType, VariableDeclaration } from '../format/pipeline.ts';
import { listTestedPipelines } from '../format/tested-pipelines.ts';
import { findReach } from '../plan/reach.ts';
import type { CallArgument, Finding, Question, QuestionText } from '../validate/finding.ts';
import { checkPipeline } from '../validate/validate.ts';
import { collectExpressions, type PlacedExpression } from './pipeline-expressions.ts';

export type VariableOutline = Pick<VariableDeclaration, 'name' | 'type' | 'visibility'>;
export type Note = Omit<Finding, 'path'> | Question;

export interface PlacedComponent {
  component: string;
  type: string;
  line: number;
}

export interface PipelineOutline {
  path: string;
  name: string;
  type: PipelineType;
  variables: VariableOutline[];
  /** The beginning of the text of its notes; empty if there are none. */
  description: string;
  /** The versions of shared pipelines used by the pipeline. */
  sharedPipelines: SharedPipelineUse[];
  /** Of a test: the names of the pipelines that it runs, as written. Absent if it is no test. */
  testedPipelines?: string[];
  /** The first component that runs in the project's warehouse; absent if none does. */
  warehouse?: PlacedComponent;
  /** Components that work in the embedded warehouse only; absent if there are none. */
  embeddedOnly?: readonly PlacedComponent[];
  notes: Note[];
  /** The number of findings and questions beyond the limit. */
  beyond: number;
}

export type OutlineResult =
  | { outline: PipelineOutline; error?: undefined }
  | { outline?: undefined; error: PipelineSyntaxError };

/**
 * Reads and checks one pipeline file.
 *
 * @param most the limit on notes of the outline; each variable set by a call, and each property of a connection, counts
 * as one more
 */
export function outlineFile(path: string, text: string, most = noteLimit): OutlineResult {
  const parsed = parsePipeline(path, text);
  if (parsed.error !== undefined) return { error: parsed.error };
  return { outline: outlinePipeline(parsed.pipeline, parsed.lineOf, most) };
}

/** Reads one pipeline file in order to run it. */
export function readPipelineFile(
  path: string,
  text: string,
):
  | {
      pipeline: Pipeline;
      outline: PipelineOutline;
      expressions: PlacedExpression[];
      lineOf(component: string): number;
    }
  | { error: PipelineSyntaxError } {
  const { pipeline, lineOf, error } = parsePipeline(path, text);
  if (error !== undefined) return { error };
  return {
    pipeline,
    outline: outlinePipeline(pipeline, lineOf),
    expressions: collectExpressions(pipeline, lineOf),
    lineOf: (component) => lineOf(['pipeline', 'components', component]),
  };
}

/** Checks a parsed pipeline. */
function outlinePipeline(pipeline: Pipeline, lineOf: LineOf, most = noteLimit): PipelineOutline {
  const notes: Note[] = [];
  let room = Math.min(most, noteLimit);
  let beyond = 0;
  function addNote(each: Note): void {
    const size = measureNote(each);
    if (size > room) beyond += size;
    else {
      room -= size;
      notes.push(each);
    }
  }
  const { runs, passed } = findReach(pipeline);
  const line = (component: string | undefined, at: readonly string[] = []) =>
    lineOf(component === undefined ? at : ['pipeline', 'components', component, ...at]);
  checkPipeline(pipeline, {
    report({ at, passing, ...draft }) {
      const { component } = draft;
      const counts = component === undefined || (passing === true ? passed : runs).has(component);
      const level = counts ? draft.level : 'warning';
      const message = draft.message.slice(0, findingMessageLimit);
      addNote({ ...draft, line: line(component, at), message, level });
    },
    ask({ at, ...asked }) {
      const { component } = asked;
      const reached = component === undefined || runs.has(component);
      addNote({
        ...cutNames(asked),
        ...(component === undefined ? {} : { component }),
        line: line(component, at),
        reached,
      });
    },
  });
  const { path, name, type, description } = pipeline;
  const variables = [...pipeline.variables.values()].map(
    ({ name, type, visibility }): VariableOutline => ({ name, type, visibility }),
  );
  const sharedPipelines = listSharedPipelineUses(pipeline);
  const components = [...pipeline.components.values()].filter(({ name }) => runs.has(name));
  const place = ({ name, type }: { name: string; type: string }) => ({
    component: name,
    type,
    line: line(name),
  });
  const first = components.find((each) => isWarehouseType(each.type));
  const warehouse = first && place(first);
  const embeddedOnly = components
    .filter((each) => findDefinition(each.type)?.embeddedOnly !== undefined)
    .map(place);
  const testedPipelines = listTestedPipelines(pipeline).map(cutName);
  const outline = {
    path,
    name,
    type,
    variables,
    description,
    sharedPipelines,
    ...(embeddedOnly.length === 0 ? {} : { embeddedOnly }),
    ...(testedPipelines.length === 0 ? {} : { testedPipelines }),
    notes,
    beyond,
  };
  return warehouse === undefined ? outline : { ...outline, warehouse };
}

function isWarehouseType(type: string): boolean {
  const definition = findDefinition(type);
  return definition?.kind === 'transformation' || definition?.warehouse === true;
}

/** The number of notes that this one counts as. */
export function measureNote(note: Note): number {
  if (!('asks' in note)) return 1;
  if (note.asks === 'endpoint') return 1 + Object.keys(note.connection).length;
  return 'sets' in note ? 1 + note.sets.length : 1;
}

/** No file or variable has a longer name, so cutting it cannot make it match one. */
const cutName = (name: string) => name.slice(0, referenceLimit + 1);

function cutNames(request: QuestionText): QuestionText {
  switch (request.asks) {
    case 'variable':
    case 'secret':
      return { asks: request.asks, name: cutName(request.name) };
    case 'file':
      return { asks: 'file', path: cutName(request.path) };
    case 'endpoint':
      return {
        asks: 'endpoint',
        profile: cutName(request.profile),
        endpoint: cutName(request.endpoint),
        connection: request.connection,
      };
    case 'call':
      return {
        asks: 'call',
        path: cutName(request.path),
        ...(request.orPath === undefined ? {} : { orPath: cutName(request.orPath) }),
        sets: request.sets.map(cutArgument),
        certain: request.certain,
      };
    case 'shared-call': {
      const { asks, use, pipelineName, sets, certain } = request;
      const named = pipelineName === undefined ? {} : { pipelineName: cutName(pipelineName) };
      return { asks, use, ...named, sets: sets.map(cutArgument), certain };
    }
  }
}

const cutArgument = ({ name, as }: CallArgument): CallArgument => ({ name: cutName(name), as });
