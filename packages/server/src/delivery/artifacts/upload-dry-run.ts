/** `?dryRun=true` of an upload: what it would publish, or why it would be refused. */
import type { Answered } from '../../kernel/endpoint/call.ts';
import { warningHeader } from '../../kernel/http/ignored-members.ts';
import { renderJson } from '../../kernel/http/render-json.ts';
import type { Checked } from './reading/pipeline-checks.ts';
import { requireFiles, requireNoErrors } from './strict-upload.ts';
import type { Upload } from './upload/collection.ts';

export interface DryUpload {
  versionName: string;
  upload: Upload;
  checked: Checked;
  isStrict: boolean;
}

/** Throws `strict-upload-refused` and `empty-upload`. */
export async function describeDryRun(
  { versionName, upload, checked, isStrict }: DryUpload,
  { warning }: { warning?: string },
): Promise<Answered> {
  if (isStrict) requireNoErrors(checked);
  requireFiles(upload);
  const { manifest, ignored } = upload;
  const body = {
    ignoredResources: ignored,
    versionName,
    ...checked.told,
    digest: manifest.digest,
    assets: manifest.files.map(({ path }) => path),
  };
  const headers = warning === undefined ? {} : { [warningHeader]: warning };
  return { status: 200, headers, body: await renderJson(body) };
}
