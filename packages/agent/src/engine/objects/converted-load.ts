/** Loads a file that the agent converts to lines of JSON first, such as a sheet of a workbook. */
import {
  type Action,
  type ConvertedFile,
  datasetNames,
  type FileConversion,
  nameStoreInLineage,
} from '@headgate/pipelines';
import type { ActionContext, ActionResult } from '../context/action-context.ts';
import { nameFile } from '../files/files.ts';
import type { ConvertedPartial, RunPorts } from '../ports/ports.ts';
import { fetchSource, nameSource } from './fetched-source.ts';

type ConvertedLoad = Extract<Action, { action: 'load-converted' }>;

export async function loadConverted(
  { source, conversions, plan }: ConvertedLoad,
  context: ActionContext,
): Promise<ActionResult> {
  const { files } = context.run.context.ports;
  const name = nameSource(source);
  const converted = await convertAll(source, name, conversions, context);
  try {
    return await load(source, name, converted, plan, context);
  } finally {
    for (const { path } of converted) await files.endWrite(path, false);
  }
}

async function load(
  source: ConvertedLoad['source'],
  name: string,
  converted: readonly ConvertedPartial[],
  plan: ConvertedLoad['plan'],
  { run, step }: ActionContext,
): Promise<ActionResult> {
  const empty = converted.find(({ columns, isMissing }) => columns.length === 0 && isMissing !== true);
  if (empty !== undefined)
    return { status: 'FAILED', message: `"${name}" was not loaded: there is no value in its cells` };
  const dataset =
    'place' in source
      ? ({
          kind: 'object',
          name: datasetNames.object(nameStoreInLineage(source.place.store), source.place.key),
        } as const)
      : ({ kind: 'file', name: datasetNames.file(name) } as const);
  step.nameFile(name, dataset);
  const { dialect } = run.context;
  // The step shows no folder of this machine.
  const warehouse = run.context.warehouse.watch((sql) =>
    step.noteStatement(
      converted.reduce(
        (text, { path }) => text.replaceAll(dialect.quotePath(path), dialect.literal(name)),
        sql,
      ),
    ),
  );
  const statements = plan(converted satisfies readonly ConvertedFile[]);
  try {
    const { rowCount } = await warehouse.executeAll(statements);
    const message = converted.flatMap(({ notes }) => notes).join('\n');
    return { status: 'SUCCESS', rowCount, ...(message === '' ? {} : { message }) };
  } catch (error) {
    throw converted.reduce((named: unknown, { path }) => nameFile(named, { path, name }), error);
  }
}

type Convert = (conversion: FileConversion) => Promise<ConvertedPartial>;

/** A file of the version, or else of the files folder, of an address or of a store. */
async function convertAll(
  source: ConvertedLoad['source'],
  name: string,
  conversions: readonly FileConversion[],
  { run }: ActionContext,
): Promise<ConvertedPartial[]> {
  const { ports, limit } = run.context;
  const { files: published } = run.artifact;
  if ('path' in source && published.has(source.path)) {
    const convert: Convert = (conversion) => published.convert(source.path, conversion, limit);
    return convertEach(name, conversions, convert, ports.files);
  }
  const [fetched] = await fetchSource(source, 'none', ports, limit);
  if (fetched === undefined) throw new Error(`"${name}" was not fetched`);
  try {
    const convert: Convert = (conversion) => ports.convert(fetched.source, conversion, limit);
    return await convertEach(name, conversions, convert, ports.files);
  } finally {
    if ('partial' in fetched.source) await ports.files.endWrite(fetched.source.partial, false);
  }
}

async function convertEach(
  name: string,
  conversions: readonly FileConversion[],
  convert: Convert,
  { endWrite }: Pick<RunPorts['files'], 'endWrite'>,
): Promise<ConvertedPartial[]> {
  const made: ConvertedPartial[] = [];
  try {
    for (const conversion of conversions) made.push(await convert(conversion));
    return made;
  } catch (error) {
    for (const { path } of made) await endWrite(path, false);
    if (error instanceof Error) error.message = `"${name}" was not loaded: ${error.message}`;
    throw error;
  }
}
