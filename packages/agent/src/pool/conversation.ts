/** One run in a process: sends the start, answers the questions of the run, and returns its outcome. */
import { realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { getCanceller } from '../cancellation.ts';
import {
  convertPartial,
  createRunFiles,
  describeFile,
  downloadPartial,
  readTextFile,
} from '../engine/files/run-files.ts';
import type { CopiedFile, RunOutcome } from '../engine/ports/ports.ts';
import type { OfRun, PlacedArtifact, Question, Questions, ToRun } from '../engine/ports/run-messages.ts';
import { followSignals } from '../followed-signals.ts';
import { getReason } from '../log.ts';
import { isPermanentFault } from '../permanent-fault.ts';
import type { WarehouseConnection } from '../warehouses/warehouse.ts';
import type { RunConnectors } from './run-connectors.ts';
import type { RunOptions } from './run-options.ts';
import { createRunScripts } from './run-scripts.ts';
import type { RunStores } from './run-stores.ts';

/** What is sent to a process, without the number of the run. */
type Message = ToRun extends infer Each ? (Each extends ToRun ? Omit<Each, 'run'> : never) : never;

/** What may write into a partial file. */
const writesFile: ReadonlySet<Question['type']> = new Set<Question['type']>([
  ...(['store-fetch', 'store-send', 'file-download', 'file-convert', 'file-append', 'file-end'] as const),
]);

export interface Conversation {
  /** Passes a message of the run. @throws Error about a message that the process cannot send at this time */
  receive(message: OfRun): void;
  cancel(): void;
  /** The process has sent a message of this run. Before, the run has had no effect. */
  readonly hasBegun: boolean;
  /** The run was given a secret. */
  readonly gotSecret: boolean;
  /** Settles when the run has finished, or `fail` was called. */
  readonly ended: Promise<{ outcome: RunOutcome; faults: readonly string[] }>;
  /** The process cannot go on. */
  fail(message: string): void;
  /** Ends the scripts of the run and what writes its files, and removes its unfinished files. */
  close(): Promise<void>;
}

export function createConversation(
  options: RunOptions,
  artifacts: readonly PlacedArtifact[],
  send: (message: Message) => void,
): Conversation {
  const scripts = createRunScripts(options.runScript, send);
  let place = options.files;
  const files = createRunFiles(() => place);
  let connectors: Promise<RunConnectors> | undefined;
  let stores: Promise<RunStores> | undefined;
  let between: Promise<WarehouseConnection> | undefined;
  /** The questions that are being answered. */
  const open = new Map<number, AbortController>();
  /** Those of them that may write into a file. None of these promises rejects. */
  const writing = new Map<number, Promise<void>>();
  const final = Promise.withResolvers<{ outcome: RunOutcome; faults: readonly string[] }>();
  let lastQuestion = 0;
  let isOver = false;
  let gotSecret = false;
  let hasBegun = false;

  async function readSecret(name: string): Promise<string> {
    gotSecret = true;
    return (await options.readSecret(name)).reveal();
  }

  /** Loaded at the first use: most runs call no API. */
  function openConnectors(): Promise<RunConnectors> {
    connectors ??= import('./run-connectors.ts').then(({ createRunConnectors }) =>
      createRunConnectors(options, locate),
    );
    return connectors;
  }

  /** Loaded at the first use. */
  function openStores(): Promise<RunStores> {
    stores ??= import('./run-stores.ts').then(({ createRunStores }) => createRunStores(options, files));
    return stores;
  }

  function convert(
    { source, conversion }: Questions['file-convert']['question'],
    interrupt: AbortSignal,
  ): Promise<Questions['file-convert']['answer']> {
    const find = async () => {
      if ('partial' in source) return files.findWriting(source.partial);
      return 'artifact' in source ? locate(source.artifact, source.path) : files.find(source.path);
    };
    const { controller, release } = followSignals([interrupt, options.kill]);
    return convertPartial(files, find, (path, target) =>
      options.stores.convert({ path, target, conversion }, controller.signal),
    ).finally(release);
  }

  async function copyFile(
    { sql, file, session }: Questions['copy']['question'],
    interrupt: AbortSignal,
  ): Promise<{ rowCount: number }> {
    const { warehouse } = options;
    if (warehouse.copy === undefined) throw new Error('the warehouse reads and writes files itself');
    return warehouse.copy(sql, { ...file, path: await findCopied(file) }, session, interrupt);
  }

  function openBetween(): Promise<WarehouseConnection> {
    between ??= options.openBetween();
    return between;
  }

  /** The process of the run may name no other file than its own. */
  async function findCopied({ path, to }: CopiedFile): Promise<string> {
    if (to === 'file' || files.isWriting(path)) return files.findWriting(path);
    const real = await realpath(path);
    const folders = [
      place.filesFolder,
      place.environmentFilesFolder,
      ...artifacts.map(({ folder }) => folder),
    ];
    for (const folder of folders)
      if (folder !== undefined && real.startsWith((await realpath(folder)) + sep)) return real;
    throw new Error('the file is not one of the run');
  }

  function download(address: string, unpacks: boolean, interrupt: AbortSignal): Promise<string> {
    const { controller, release } = followSignals([interrupt, options.kill]);
    const write = (path: string) => options.download(address, path, unpacks, controller.signal);
    return downloadPartial(files, write).finally(release);
  }

  async function enterScratch(): Promise<{ schema?: string }> {
    const { filesFolder, schema } = await options.enterScratch();
    if (filesFolder !== place.filesFolder) place = { filesFolder, environmentFilesFolder: place.filesFolder };
    return schema === undefined ? {} : { schema };
  }

  function locate(artifact: number, path: string): string {
    const placed = artifacts[artifact];
    if (placed === undefined || !placed.index.paths.includes(path))
      throw new Error(`the artifact has no file "${path}"`);
    return join(placed.folder, path);
  }

  async function carryOut(request: Question, interrupt: AbortSignal): Promise<unknown> {
    switch (request.type) {
      case 'execute':
        return options.warehouse.execute(request.sql, request.session, interrupt, request.secret);
      case 'query':
        return options.warehouse.queryText(
          request.sql,
          request.maxRows,
          request.session,
          interrupt,
          request.secret,
        );
      case 'copy':
        return copyFile(request, interrupt);
      case 'between-execute':
        return (await openBetween()).execute(request.sql, undefined, interrupt);
      case 'between-query':
        return (await openBetween()).queryText(request.sql, request.maxRows, undefined, interrupt);
      case 'secret':
        return readSecret(request.name);
      case 'scratch':
        return enterScratch();
      case 'script':
        return scripts.run(request.id, request.job, interrupt);
      case 'artifact-text':
        return readTextFile(locate(request.artifact, request.path), request.path);
      case 'artifact-file':
        return describeFile(locate(request.artifact, request.path));
      case 'file-find':
        return files.find(request.path);
      case 'file-text':
        return files.read(request.path);
      case 'file-list':
        return files.list(request.folder, request.recursive);
      case 'file-descriptions':
        return files.describe(request.folder, request.paths);
      case 'file-begin':
        return files.beginWrite(request.path);
      case 'file-append':
        return files.append(request.partial, request.text);
      case 'connector-open':
        return (await openConnectors()).open(request);
      case 'connector-page':
        return (await openConnectors()).fetch(request, interrupt);
      case 'connector-close':
        return (await openConnectors()).close(request.call);
      case 'store-list':
        return (await openStores()).list(request, interrupt);
      case 'store-fetch':
        return (await openStores()).fetch(request, interrupt);
      case 'store-stat':
        return (await openStores()).stat(request, interrupt);
      case 'store-send':
        return (await openStores()).send(request, interrupt);
      case 'store-execute': {
        const sql = await (await openStores()).writeCredentials(request.store, request.sql);
        return options.warehouse.execute(sql, request.session, interrupt);
      }
      case 'store-remove':
        return (await openStores()).remove(request, interrupt);
      case 'file-download':
        return download(request.address, request.unpacks, interrupt);
      case 'file-convert':
        return convert(request, interrupt);
      case 'file-end':
        return files.endWrite(request.partial, request.isComplete);
      default:
        throw new Error('the process asks for something unknown');
    }
  }

  async function answer(request: Question): Promise<void> {
    const { id } = request;
    const interrupt = new AbortController();
    open.set(id, interrupt);
    let message: Message;
    try {
      message = { type: 'answer', id, value: await carryOut(request, interrupt.signal) };
    } catch (error) {
      const isPermanent = isPermanentFault(error) ? { isPermanent: true as const } : {};
      message = { type: 'refusal', id, message: getReason(error), ...isPermanent };
    }
    open.delete(id);
    if (!isOver) send(message);
  }

  function begin(request: Question): void {
    const answered = answer(request);
    if (!writesFile.has(request.type)) return;
    writing.set(request.id, answered);
    void answered.then(() => writing.delete(request.id));
  }

  /** A file that is opened after its removal would stay. */
  async function endWriting(): Promise<void> {
    for (const id of writing.keys()) open.get(id)?.abort();
    await Promise.all(writing.values());
  }

  return {
    receive(message) {
      if (isOver) throw new Error('a message after its end');
      hasBegun = true;
      switch (message.type) {
        case 'alive':
          return;
        case 'step':
          requireJson([message.step, message.ran]);
          return options.onStep(message.step, message.ran);
        case 'line':
          requireJson([message.line, message.source, message.timestamp]);
          return options.onLine(message.line, message.source, message.timestamp);
        case 'variables':
          requireJson(message.variables);
          return options.onVariables(message.variables);
        case 'interrupt':
          return open.get(message.questionId)?.abort();
        case 'script-answer':
        case 'script-refusal':
          return scripts.settle(message);
        case 'finished':
          requireEnd(message);
          isOver = true;
          return final.resolve(message);
        default:
          // Numbers only grow, so that no answer can reach another question.
          if (!(message.id > lastQuestion)) throw new Error('a question out of order');
          lastQuestion = message.id;
          begin(message);
      }
    },
    cancel: () => send({ type: 'cancel', requestedBy: getCanceller(options.cancel) }),
    get hasBegun() {
      return hasBegun;
    },
    get gotSecret() {
      return gotSecret;
    },
    ended: final.promise,
    fail(message) {
      isOver = true;
      final.resolve({ outcome: { status: 'FAILED', message }, faults: [] });
    },
    async close() {
      isOver = true;
      (await connectors)?.closeAll();
      (await stores)?.closeAll();
      await (await between?.catch(() => undefined))?.close();
      await scripts.close();
      await endWriting();
      await files.close();
    },
  };
}

/** The channel carries more than a report can say. @throws Error if it is no JSON */
function requireJson(value: unknown): void {
  JSON.stringify(value);
}

const endStatuses: readonly string[] = ['SUCCESS', 'FAILED', 'CANCELLED'] satisfies RunOutcome['status'][];

function requireEnd({ outcome, faults }: Extract<OfRun, { type: 'finished' }>): void {
  requireJson(outcome);
  const isMessage = outcome.message === undefined || typeof outcome.message === 'string';
  if (!endStatuses.includes(outcome.status) || !isMessage || !Array.isArray(faults))
    throw new Error('an end that is none');
}
