import type { ManifestUser } from '../../delivery/blobs/index.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { createCommitTool } from './commit-tool.ts';
import type { ToolServices } from './declared-tool.ts';
import { createFileTools } from './file-tools.ts';
import { createPipelineTools } from './pipeline-tools.ts';
import { createQueryTool } from './query-tool.ts';
import { createRunTools } from './run-tools.ts';
import type { Platform } from './tool/platform.ts';
import type { Tool } from './tool/tool.ts';

export { type BaseFile, type BaseFiles, createCommitFiles, createVersionFiles } from './base-files.ts';
export type { CopyServices } from './copy-services.ts';
export { judgeCopy } from './findings.ts';
export { hideSecrets } from './masking.ts';
export { listRuns } from './run.store.ts';
export { createPlatform, type Platform } from './tool/platform.ts';
export type * from './tool/tool.ts';
export { ToolFault } from './tool/tool-fault.ts';
export {
  type CopyRow,
  closeCopy,
  copyRow,
  holdCopy,
  lockCopy,
  newestVersion,
} from './working-copy.store.ts';
export { decodeText, readCopy, type WorkingCopy } from './working-copy.ts';

/** All tools. */
export function createPlatformTools(services: ToolServices): Tool[] {
  return [
    ...createFileTools(services),
    ...createPipelineTools(services),
    ...createRunTools(services),
    createQueryTool(services),
    createCommitTool(services),
  ];
}

export const aiTools: Slice<{ platform: Platform }> & ManifestUser = {
  name: 'ai-tools',
  routes: ({ app }, { platform }) => platform.serve(app),
  // A version that a working copy began with.
  manifestUses: [
    `exists (select from ai_working_copy w where w.account_id = $account_id and w.manifest_digest = m.digest and w.state = 'OPEN')`,
  ],
};
