/** What an upload probably did not mean, for the header `Headgate-Warning`: nothing of it is refused. */
import type { ReadCall } from '../../kernel/endpoint/call.ts';
import { pipelinesAmong } from './artifact.store.ts';
import type { Upload } from './upload/collection.ts';

type Rows = ReadCall<never>['rows'];

/** @param newest the manifest of the newest version */
export async function findUploadWarning(
  rows: Rows,
  newest: string | null,
  upload: Upload,
): Promise<string | undefined> {
  const sentences = [describeOnlyFile(upload), await describeLostPipelines(rows, newest, upload)];
  const found = sentences.filter((each) => each !== undefined);
  return found.length === 0 ? undefined : found.join('; ');
}

/** `curl -F file=@main.orch.yaml` stores a file of that name. */
function describeOnlyFile({ manifest, ignored }: Upload): string | undefined {
  const [only, another] = manifest.files;
  if (only?.path !== 'file' || another !== undefined || ignored.length > 0) return undefined;
  return 'the only part is named "file", and so is the file that is stored: the name of a part is the path of its file, as in -F "main.orch.yaml=@main.orch.yaml"';
}

async function describeLostPipelines(
  rows: Rows,
  newest: string | null,
  { manifest, pipelines }: Upload,
): Promise<string | undefined> {
  if (newest === null || newest === manifest.digest) return undefined;
  const [row] = await rows(pipelinesAmong, {
    digest: newest,
    names: pipelines.map(({ name }) => name),
    types: pipelines.map(({ type }) => type),
  });
  if (row === undefined || row.present * 2 >= row.total) return undefined;
  const remaining = row.present === 0 ? 'none' : `only ${row.present}`;
  return `the upload has ${remaining} of the ${row.total} pipelines of the newest version: a version has all files of the project, and what is left out cannot be started from it`;
}
