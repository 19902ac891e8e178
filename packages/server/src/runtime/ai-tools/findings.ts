/** The findings of an upload of the working copy: the same checks by the same code, and nothing is stored. */
import { getRepositoryFile, type UploadWarning } from '@headgate/contract';
import {
  type Checked,
  createCollection,
  createPipelineChecks,
  judgeReferences,
  listNamesBy,
  type PipelineReader,
  type Upload,
} from '../../delivery/artifacts/index.ts';
import { type BlobWriter, createDiscardingWriter } from '../../delivery/blobs/index.ts';
import type { ReadCall } from '../../kernel/endpoint/endpoint.ts';
import type { ToolServices } from './declared-tool.ts';
import { actForAll } from './tool/actors.ts';
import type { ToolContext } from './tool/tool.ts';
import type { WorkingCopy } from './working-copy.ts';

type Rows = ReadCall<never>['rows'];

export interface Judged {
  upload: Upload;
  checked: Checked;
}

/** @param rows reads names that the caller may read @throws Problem for files that no upload may have */
export async function judgeCopy(
  { readPipeline }: { readPipeline: PipelineReader },
  { accountId, rows }: { accountId: string; rows: Rows },
  copy: Pick<WorkingCopy, 'readAll'>,
  writer: BlobWriter = createDiscardingWriter(),
  retain?: (path: string, bytes: Buffer) => void,
): Promise<Judged> {
  const checks = createPipelineChecks(readPipeline, accountId);
  const collection = createCollection(writer, checks, retain);
  for await (const { path, bytes } of copy.readAll()) {
    const wait = collection.add(path, bytes);
    if (wait !== undefined) await wait;
  }
  const upload = await collection.finish();
  return { upload, checked: await judgeReferences(listNamesBy(rows), checks, upload) };
}

export async function findFindings(
  services: ToolServices,
  context: ToolContext,
  copy: WorkingCopy,
): Promise<Checked> {
  const { rows } = actForAll(services, getRepositoryFile, context);
  return (await judgeCopy(services, { accountId: context.task.accountId, rows }, copy)).checked;
}

export function renderFinding({ path, line, level, code, message }: UploadWarning): string {
  return `${path}${line === undefined ? '' : `:${line}`}: ${level} ${code}: ${message}`;
}
