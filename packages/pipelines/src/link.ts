/** The questions that outlines of single files leave, answered by all of them together. */
import { findingMessageLimit } from './bounds.ts';
import type { Finding, Question } from './finding.ts';
import type { PipelineOutline } from './outline.ts';
import { callCycles } from './validate-calls.ts';

/** What the project has beside its pipelines. */
export interface ProjectNames {
  variables: ReadonlySet<string>;
  secretReferences: ReadonlySet<string>;
  /** Paths of all files, pipelines too. */
  files: ReadonlySet<string>;
}

type Call = Extract<Question, { asks: 'call' }>;
type ReportOfProject = (finding: Finding) => void;

/** The names of variables that are used but not declared where they are used: the project may have them. */
export function variablesAskedFor(outlines: Iterable<PipelineOutline>): Set<string> {
  const names = new Set<string>();
  for (const { notes } of outlines) {
    for (const note of notes) {
      if (!('asks' in note)) continue;
      if (note.asks === 'variable') names.add(note.name);
      if (note.asks === 'call') for (const name of note.sets) names.add(name);
    }
  }
  return names;
}

/** The names of secret references that pipelines use. */
export function secretsAskedFor(outlines: Iterable<PipelineOutline>): Set<string> {
  const names = new Set<string>();
  for (const { notes } of outlines)
    for (const note of notes) if ('asks' in note && note.asks === 'secret') names.add(note.name);
  return names;
}

/** Tells all findings of a project: file by file in the order given, and then what concerns several. */
export function linkProject(
  outlines: readonly PipelineOutline[],
  known: ProjectNames,
  report: ReportOfProject,
): void {
  const byPath = new Map(outlines.map((outline) => [outline.path, outline]));
  const declarations = declarationsOf(byPath);
  const bounded: ReportOfProject = (finding) =>
    report({ ...finding, message: finding.message.slice(0, findingMessageLimit) });
  for (const { path, notes, beyond } of outlines) {
    for (const note of notes) {
      if (!('asks' in note)) report({ path, ...note });
      else if (note.asks === 'variable') answerVariable(path, note, known, bounded);
      else if (note.asks === 'secret') answerSecret(path, note, known, bounded);
      else if (note.asks === 'file') answerFile(path, note, known, bounded);
      else answerCall(path, note, declarations, known, bounded);
    }
    if (beyond > 0) {
      const message = `the pipeline has ${beyond} more findings, or names to look up, than are kept: mend those that are told, or split it`;
      report({ path, code: 'more-findings', message, level: 'warning' });
    }
  }
  for (const finding of callCycles(calleesOf(outlines))) bounded(finding);
}

function answerVariable(
  path: string,
  { component, name }: { component: string; name: string },
  known: ProjectNames,
  report: ReportOfProject,
): void {
  if (known.variables.has(name) || name === 'sysvar') return;
  const message = `the pipeline declares no variable "${name}": declare it here or in the project`;
  report({ path, component, code: 'undeclared-variable', message, level: 'warning' });
}

function answerSecret(
  path: string,
  { component, name }: { component?: string; name: string },
  known: ProjectNames,
  report: ReportOfProject,
): void {
  if (known.secretReferences.has(name)) return;
  const message = `the project has no secret reference "${name}": create it, or correct the name`;
  const where = component === undefined ? { path } : { path, component };
  report({ ...where, code: 'unknown-secret-reference', message, level: 'warning' });
}

function answerFile(
  path: string,
  { component, path: file }: { component: string; path: string },
  known: ProjectNames,
  report: ReportOfProject,
): void {
  if (known.files.has(file)) return;
  const message = `the file "${file}" is not in the project: unless the agent has it in its own files folder, add it, or correct the name`;
  report({ path, component, code: 'missing-file', message, level: 'warning' });
}

function answerCall(
  path: string,
  call: Call,
  declarations: (path: string) => ReadonlyMap<string, 'PUBLIC' | 'PRIVATE'> | undefined,
  known: ProjectNames,
  report: ReportOfProject,
): void {
  const { component, path: called, sets } = call;
  const declared = declarations(called);
  if (declared === undefined) {
    const message = `the pipeline ${called} is not in the project, or cannot be read: add it, or correct the name`;
    report({ path, component, code: 'missing-pipeline', message, level: 'error' });
    return;
  }
  for (const name of sets) {
    const visibility = declared.get(name);
    if (visibility === undefined) answerVariable(path, { component, name }, known, report);
    else if (visibility === 'PRIVATE') {
      const message = `"${name}" is PRIVATE in ${called} and cannot be set from ${path}: make it PUBLIC`;
      report({ path, component, code: 'private-variable', message, level: 'error' });
    }
  }
}

/** What a pipeline declares, looked up only of those that are called. */
function declarationsOf(byPath: ReadonlyMap<string, PipelineOutline>) {
  const found = new Map<string, ReadonlyMap<string, 'PUBLIC' | 'PRIVATE'>>();
  return (path: string) => {
    const outline = byPath.get(path);
    if (outline === undefined) return undefined;
    const declared =
      found.get(path) ?? new Map(outline.variables.map(({ name, visibility }) => [name, visibility]));
    found.set(path, declared);
    return declared;
  };
}

function calleesOf(outlines: readonly PipelineOutline[]): Map<string, { sources: string[] }> {
  const called = ({ notes }: PipelineOutline) =>
    notes.flatMap((note) => ('asks' in note && note.asks === 'call' ? [note.path] : []));
  return new Map(outlines.map((outline) => [outline.path, { sources: called(outline) }]));
}
