/** The object stores that one run uses. The run's process names them; their credentials stay with the agent. */
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { pipeline as finishPipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import {
  credentialsMark,
  PermanentFault,
  type StoreAddress,
  snowflakeCredentialsMark,
} from '@headgate/pipelines';
import type { RunFiles, SentFile } from '../engine/ports/ports.ts';
import type { Questions } from '../engine/ports/run-messages.ts';
import { followSignals } from '../followed-signals.ts';
import type { ListScope, ObjectStore, StoredObject } from '../stores/object-store.ts';
import type { AccessKey } from '../stores/sigv4.ts';
import type { RunOptions } from './run-options.ts';

export interface RunStores {
  list(
    question: Questions['store-list']['question'],
    interrupt: AbortSignal,
  ): Promise<Questions['store-list']['answer']>;
  fetch(
    question: Questions['store-fetch']['question'],
    interrupt: AbortSignal,
  ): Promise<Questions['store-fetch']['answer']>;
  remove(
    question: Questions['store-remove']['question'],
    interrupt: AbortSignal,
  ): Promise<Questions['store-remove']['answer']>;
  stat(
    question: Questions['store-stat']['question'],
    interrupt: AbortSignal,
  ): Promise<Questions['store-stat']['answer']>;
  /** The SQL with the access key of a store. */
  writeCredentials(store: StoreAddress, sql: string): Promise<string>;
  send(question: Questions['store-send']['question'], interrupt: AbortSignal): Promise<number>;
  closeAll(): void;
}

/** Objects of one list. */
const listLimit = 100_000;
/** Answers of one list. Stores put from 1,000 to 5,000 objects into each, and a few are empty. */
const pageLimit = 1_000;
/** A list of 100,000 objects takes seconds. */
const listMilliseconds = 600_000;
/** Bytes of the names and versions of one list, which the agent keeps in its memory. */
const listBytes = 128 * 1_048_576;
/** Stores that one run has open. */
const openLimit = 50;

const readBytes = 1_048_576;

/** No file gets this name: what was fetched is loaded from its partial file. */
const fetchedName = '.object';

export function createRunStores(
  { stores, kill }: Pick<RunOptions, 'stores' | 'kill'>,
  files: Pick<RunFiles, 'beginWrite' | 'endWrite' | 'find' | 'findWriting'>,
): RunStores {
  const opened = new Map<string, Promise<ObjectStore>>();

  function find(address: StoreAddress): Promise<ObjectStore> {
    const key = JSON.stringify(address);
    const known = opened.get(key);
    if (known !== undefined) return known;
    if (opened.size >= openLimit) throw new Error(`the run uses more than ${openLimit} object stores`);
    const opening = stores.open(address);
    opened.set(key, opening);
    opening.catch(() => opened.delete(key));
    return opening;
  }

  async function within<Result>(
    address: StoreAddress,
    interrupt: AbortSignal,
    use: (store: ObjectStore, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { controller, release } = followSignals([interrupt, kill]);
    try {
      return await use(await find(address), controller.signal);
    } finally {
      release();
    }
  }

  /** On the side of the store. */
  async function copy(
    { key, size }: StoredObject,
    target: SentFile['target'],
    interrupt: AbortSignal,
  ): Promise<number> {
    if (!('place' in target)) throw new Error('an object is copied within its store only');
    const { place } = target;
    await within(place.store, interrupt, (store, signal) => store.copy(key, place.key, signal));
    return size;
  }

  async function writeFile(
    from: string,
    target: string,
    gzips: boolean,
    isNew: boolean,
    interrupt: AbortSignal,
  ): Promise<number> {
    if (
      isNew &&
      (await files.find(target).then(
        () => true,
        () => false,
      ))
    )
      throw new PermanentFault(`the file "${target}" exists: choose another name, or let it be replaced`);
    const partial = await files.beginWrite(target);
    let isComplete = false;
    try {
      const read = createReadStream(from, { highWaterMark: readBytes });
      const streams = [read, ...(gzips ? [createGzip()] : []), createWriteStream(partial, { mode: 0o600 })];
      await finishPipeline(streams, { signal: interrupt });
      isComplete = true;
      return (await stat(partial)).size;
    } finally {
      await files.endWrite(partial, isComplete);
    }
  }

  return {
    list: ({ place, limit = listLimit, scope = 'all' }, interrupt) =>
      within(place.store, interrupt, async (store, signal) => {
        const found: Questions['store-list']['answer'] = [];
        let bytes = 0;
        for await (const page of listPages(store, place.key, signal, scope)) {
          found.push(...page);
          for (const { key, version } of page) bytes += Buffer.byteLength(key) + Buffer.byteLength(version);
          if (bytes > listBytes)
            throw describeLongList(place.key, `has more than ${listBytes / 1_048_576} MiB of names`);
          if (found.length > limit)
            throw new Error(`more than ${limit} objects begin with "${place.key}": name a longer prefix`);
        }
        return found;
      }),
    fetch: ({ store: address, object, reading }, interrupt) =>
      within(address, interrupt, (store, signal) =>
        stores.fetch({
          ...{ store, object, reading, signal },
          createFile: () => files.beginWrite(fetchedName),
          removeFile: (path) => files.endWrite(path, false),
        }),
      ),
    remove: ({ store: address, objects }, interrupt) =>
      within(address, interrupt, async (store, signal) => {
        const changed: string[] = [];
        for (const { key, version } of objects) {
          const found = await findObject(store, key, signal);
          if (found === undefined) continue;
          if (found.version === version) await store.remove(key, signal);
          else changed.push(key);
        }
        return changed;
      }),
    stat: ({ place }, interrupt) =>
      within(place.store, interrupt, (store, signal) => store.stat(place.key, signal)),
    async writeCredentials(address, sql) {
      // Whoever runs the warehouse, or answers in its place, reads the statement.
      if (address.credentials.from === 'machine')
        throw new PermanentFault(
          'the key of the machine’s role is not given to a warehouse: set "iamRoleArn", or name "credentials"',
        );
      const store = await find(address);
      const mark = sql.includes(snowflakeCredentialsMark) ? snowflakeCredentialsMark : credentialsMark;
      const parts = sql.split(mark);
      if (parts.length !== 2)
        throw new PermanentFault('a name of the statement has a character that no name has');
      return parts.join(
        mark === credentialsMark ? await renderKey(store, redshiftNames) : await renderSnowflake(store),
      );
    },
    async send({ source, target, gzips, isNew, maxBytes }, interrupt) {
      if ('object' in source) return copy(source.object, target, interrupt);
      const path = 'partial' in source ? files.findWriting(source.partial) : await files.find(source.path);
      if ('path' in target) return writeFile(path, target.path, gzips, isNew, interrupt);
      const { place } = target;
      return within(place.store, interrupt, async (store, signal) => {
        if (isNew && (await findObject(store, place.key, signal)) !== undefined)
          throw new PermanentFault(
            `the object "${place.key}" exists: choose another filePrefix, or set overwrite to Yes`,
          );
        const read = createReadStream(path, { highWaterMark: readBytes });
        // A store that refuses before it reads leaves nobody to hear of an error.
        read.on('error', () => undefined);
        const body = gzips ? pipeline(read, createGzip(), () => undefined) : read;
        try {
          const chunks = body as AsyncIterable<Buffer>;
          const bounded = maxBytes === undefined ? chunks : limitBytes(chunks, maxBytes);
          return await store.write(place.key, bounded, signal);
        } finally {
          read.destroy();
        }
      });
    },
    closeAll() {
      for (const store of opened.values())
        void store.then(
          (each) => each.close(),
          () => undefined,
        );
      opened.clear();
    },
  };
}

/** Keys and signatures have no other characters, so that they need no escapes. */
const keyPattern = /^[\w+/=.%&?:~-]{1,4000}$/;

const redshiftNames = ['ACCESS_KEY_ID ', 'SECRET_ACCESS_KEY ', 'SESSION_TOKEN '] as const;
const snowflakeNames = ['AWS_KEY_ID = ', 'AWS_SECRET_KEY = ', 'AWS_TOKEN = '] as const;

function renderValue(name: string, value: string): string {
  if (keyPattern.test(value)) return `${name}'${value}'`;
  throw new PermanentFault(
    `the ${name.split(' ')[0]} of the credentials has characters that no key has: correct the secret`,
  );
}

async function renderKey(store: ObjectStore, [id, secret, token]: readonly [string, string, string]) {
  const key: AccessKey | undefined = await store.readKey?.();
  if (key === undefined) throw new PermanentFault('the store has no access key: name its credentials');
  const values = [
    [id, key.accessKeyId],
    [secret, key.secretAccessKey],
    [token, key.sessionToken],
  ] as const;
  return values.flatMap(([name, value]) => (value === undefined ? [] : renderValue(name, value))).join(' ');
}

async function renderSnowflake(store: ObjectStore): Promise<string> {
  if (store.signature !== undefined) return renderValue('AZURE_SAS_TOKEN = ', store.signature);
  if (store.readKey !== undefined) return renderKey(store, snowflakeNames);
  throw new PermanentFault(
    'Snowflake reaches Azure Blob Storage by a "sasToken" of the credentials, or by a storage integration: add one',
  );
}

/** @throws PermanentFault if the store does not come to an end */
async function* listPages(
  store: ObjectStore,
  key: string,
  signal: AbortSignal,
  scope: ListScope,
): AsyncGenerator<readonly StoredObject[]> {
  const late = AbortSignal.timeout(listMilliseconds);
  const { controller, release } = followSignals([signal, late]);
  let pages = 0;
  try {
    for await (const page of store.list(key, controller.signal, scope)) {
      pages += 1;
      if (pages > pageLimit) throw describeLongList(key, `has more than ${pageLimit} pages`);
      yield page;
    }
  } catch (error) {
    if (!late.aborted || signal.aborted) throw error;
    throw describeLongList(key, `took longer than ${listMilliseconds / 60_000} minutes`);
  } finally {
    release();
  }
}

const describeLongList = (key: string, why: string) =>
  new PermanentFault(
    `the list of what begins with "${key}" ${why}: name a longer prefix, or check "endpoint"`,
  );

/** By its list, because the answer to a question for one object does not say why there is none. */
async function findObject(
  store: ObjectStore,
  key: string,
  signal: AbortSignal,
): Promise<StoredObject | undefined> {
  // A page may be empty, and the key comes first of those that begin with it.
  for await (const page of listPages(store, key, signal, 'folder'))
    if (page.length > 0) return page.find((object) => object.key === key);
  return undefined;
}

/** @throws PermanentFault when there are more */
async function* limitBytes(chunks: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > most)
      throw new PermanentFault(
        `nothing was written, because the object has more than ${most} bytes: raise "maxFileSize", or unload a part of the rows at a time`,
      );
    yield chunk;
  }
}
