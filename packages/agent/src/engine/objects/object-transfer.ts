/** Writes the rows of a table to an object, and copies files between stores, addresses and the files folder. */
import {
  type Action,
  datasetNames,
  nameObject,
  nameStoreInLineage,
  PermanentFault,
  type StorePlace,
} from '@headgate/pipelines';
import type { ActionContext, ActionResult } from '../context/action-context.ts';
import { nameFile } from '../files/files.ts';
import { fetchSource } from './fetched-source.ts';
import { readTarget, requireNoRole } from './target-table.ts';
import { writeRows } from './written-rows.ts';

/** No file gets this name: rows are written to its partial file, which is sent. */
const unloadedName = '.unload';

export async function unloadObject(
  { table, place, gzips, isNew, maxBytes, format, query, role }: Extract<Action, { action: 'unload-object' }>,
  { run, step }: ActionContext,
): Promise<ActionResult> {
  const { ports, limit, dialect } = run.context;
  requireNoRole(role);
  const columns = await readTarget(table, run.context.warehouse, dialect);
  const name = nameObject(place);
  const partial = await ports.files.beginWrite(unloadedName);
  const path = dialect.literal(partial);
  // The step shows no folder of this machine.
  const warehouse = run.context.warehouse.watch((sql) =>
    step.noteStatement(sql.replaceAll(path, dialect.literal(name))),
  );
  step.nameFile(name, {
    kind: 'object',
    name: datasetNames.object(nameStoreInLineage(place.store), place.key),
  });
  try {
    const written = { query: query(columns), format, name };
    const { rowCount } = await writeRows(written, partial, warehouse, run.context).catch((error: unknown) => {
      throw nameFile(error, { path: partial, name });
    });
    const sent = { source: { partial }, target: { place }, gzips, isNew, maxBytes };
    const bytes = await ports.stores.send(sent, limit);
    return { status: 'SUCCESS', rowCount, message: `${bytes} bytes written to ${name}` };
  } finally {
    await ports.files.endWrite(partial, false);
  }
}

type Transfer = Extract<Action, { action: 'transfer-object' }>;

export async function transferObject(
  { source, target, unpacks, gzips }: Transfer,
  { run, step }: ActionContext,
): Promise<ActionResult> {
  const { ports, limit } = run.context;
  if (unpacks && !('place' in source))
    throw new PermanentFault(
      '"unpackZipFile" is for objects of a store: copy the archive to one before, or load it by s3-load',
    );
  step.noteEffect();
  const isWithin = 'place' in source && 'place' in target && isSameStore(source.place, target.place);
  const fetched =
    isWithin && !unpacks && !gzips
      ? [{ source: { object: await ports.stores.stat(source.place, limit) }, entry: '' }]
      : await fetchSource(source, unpacks ? 'zip' : 'none', ports, limit);
  let bytes = 0;
  try {
    for (const { source: file, entry } of fetched) {
      const to = addEntry(target, entry);
      bytes += await ports.stores.send({ source: file, target: to, gzips, isNew: false }, limit);
    }
  } finally {
    for (const { source: file } of fetched)
      if ('partial' in file) await ports.files.endWrite(file.partial, false);
  }
  const count = fetched.length === 1 ? '' : `${fetched.length} files, `;
  return {
    status: 'SUCCESS',
    byteCount: bytes,
    message: `${count}${bytes} bytes written to ${'place' in target ? nameObject(target.place) : target.path}`,
  };
}

const isSameStore = (one: StorePlace, other: StorePlace) =>
  JSON.stringify(one.store) === JSON.stringify(other.store);

/** @throws PermanentFault if the name of the entry leads elsewhere */
function addEntry(target: Transfer['target'], entry: string): Transfer['target'] {
  if (entry === '') return target;
  if (entry.split(/[\\/]/).some((part) => part === '..' || part === '.' || part === ''))
    throw new PermanentFault(`the archive has a file "${entry}", whose name is not allowed`);
  if ('path' in target) return { path: `${target.path}/${entry}` };
  const { store, key } = target.place;
  return { place: { store, key: `${key}/${entry}` } };
}
