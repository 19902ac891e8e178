/**
 * A project checked file by file, so that it need not be in memory at once.
 *
 * - **outline**: what a pipeline file leaves behind: what it declares, and its notes.
 * - **note**: a finding that needs no other file, or a question that only the other files answer (link.ts).
 */
import { findingMessageLimit, noteLimit, referenceLimit } from './bounds.ts';
import { findDefinition } from './components/registry.ts';
import type { Asked, CallArgument, Finding, Question } from './finding.ts';
import { type LineOf, type PipelineSyntaxError, parsePipeline } from './parse.ts';
import type { Pipeline, PipelineType, VariableDeclaration } from './pipeline.ts';
import { expressionsOf, type PlacedExpression } from './pipeline-expressions.ts';
import { reachOf } from './reach.ts';
import { type SharedPipelineUse, sharedPipelineUses } from './shared-pipeline-use.ts';
import { checkPipeline } from './validate.ts';

export type VariableOutline = Pick<VariableDeclaration, 'name' | 'type' | 'visibility'>;
export type Note = Omit<Finding, 'path'> | Question;

export interface PipelineOutline {
  path: string;
  name: string;
  type: PipelineType;
  variables: VariableOutline[];
  /** Its notes, from the beginning; empty without any. */
  description: string;
  /** The versions of shared pipelines that it uses. */
  sharedPipelines: SharedPipelineUse[];
  /** The first component that runs in the project's warehouse; absent when none does. */
  warehouse?: { component: string; type: string; line: number };
  notes: Note[];
  /** Findings, and names that were to be looked up, beyond the bound. */
  beyond: number;
}

export type OutlineResult =
  | { outline: PipelineOutline; error?: undefined }
  | { outline?: undefined; error: PipelineSyntaxError };

/**
 * Reads and checks one pipeline file.
 *
 * @param most how many notes the outline may hold; what it names counts by itself
 */
export function outlineFile(path: string, text: string, most = noteLimit): OutlineResult {
  const parsed = parsePipeline(path, text);
  if (parsed.error !== undefined) return { error: parsed.error };
  return { outline: outlinePipeline(parsed.pipeline, parsed.lineOf, most) };
}

/** One pipeline file, to be run. */
export function readPipelineFile(
  path: string,
  text: string,
):
  | { pipeline: Pipeline; outline: PipelineOutline; expressions: PlacedExpression[] }
  | { error: PipelineSyntaxError } {
  const { pipeline, lineOf, error } = parsePipeline(path, text);
  if (error !== undefined) return { error };
  return {
    pipeline,
    outline: outlinePipeline(pipeline, lineOf),
    expressions: expressionsOf(pipeline, lineOf),
  };
}

/** Checks a pipeline that was read. */
function outlinePipeline(pipeline: Pipeline, lineOf: LineOf, most = noteLimit): PipelineOutline {
  const notes: Note[] = [];
  let room = Math.min(most, noteLimit);
  let beyond = 0;
  function note(each: Note): void {
    const size = sizeOf(each);
    if (size > room) beyond += size;
    else {
      room -= size;
      notes.push(each);
    }
  }
  const { runs, passed } = reachOf(pipeline);
  const line = (component: string | undefined, at: readonly string[] = []) =>
    lineOf(component === undefined ? at : ['pipeline', 'components', component, ...at]);
  checkPipeline(pipeline, {
    report({ at, passing, ...draft }) {
      const { component } = draft;
      const counts = component === undefined || (passing === true ? passed : runs).has(component);
      const level = counts ? draft.level : 'warning';
      const message = draft.message.slice(0, findingMessageLimit);
      note({ ...draft, line: line(component, at), message, level });
    },
    ask({ at, ...asked }) {
      const { component } = asked;
      const reached = component === undefined || runs.has(component);
      note({
        ...bounded(asked),
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
  const sharedPipelines = sharedPipelineUses(pipeline);
  const first = [...pipeline.components.values()].find(
    (each) => runs.has(each.name) && needsWarehouse(each.type),
  );
  const warehouse = first && { component: first.name, type: first.type, line: line(first.name) };
  const outline = { path, name, type, variables, description, sharedPipelines, notes, beyond };
  return warehouse === undefined ? outline : { ...outline, warehouse };
}

function needsWarehouse(type: string): boolean {
  const definition = findDefinition(type);
  return definition?.kind === 'transformation' || definition?.warehouse === true;
}

/** How many notes it counts for. */
export function sizeOf(note: Note): number {
  return 'asks' in note && 'sets' in note ? 1 + note.sets.length : 1;
}

/** A longer name is that of nothing; cut, it still is. */
const cut = (name: string) => name.slice(0, referenceLimit + 1);

function bounded(asked: Asked): Asked {
  switch (asked.asks) {
    case 'variable':
    case 'secret':
      return { asks: asked.asks, name: cut(asked.name) };
    case 'file':
      return { asks: 'file', path: cut(asked.path) };
    case 'call':
      return {
        asks: 'call',
        path: cut(asked.path),
        sets: asked.sets.map(cutArgument),
        certain: asked.certain,
      };
    case 'shared-call': {
      const { asks, use, pipelineName, sets, certain } = asked;
      const named = pipelineName === undefined ? {} : { pipelineName: cut(pipelineName) };
      return { asks, use, ...named, sets: sets.map(cutArgument), certain };
    }
  }
}

const cutArgument = ({ name, as }: CallArgument): CallArgument => ({ name: cut(name), as });
