import type { FastifyInstance } from 'fastify';
import type { ManifestUser } from '../../delivery/blobs/index.ts';
import type { Tokens } from '../../kernel/security/tokens.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { createCommitTool } from './commit-tool.ts';
import { createFileTools } from './file-tools.ts';
import { createPipelineTools } from './pipeline-tools.ts';
import { createPlatform } from './platform.ts';
import { createQueryTool } from './query-tool.ts';
import { createRunTools } from './run-tools.ts';
import type { Tool } from './tool.ts';
import type { ToolServices } from './tool-kit.ts';

export type * from './tool.ts';

export type PlatformToolServices = Omit<ToolServices, 'platform'> & { tokens: Tokens };

/** All tools. @param app the server whose operations the tools call */
export function createPlatformTools(app: FastifyInstance, services: PlatformToolServices): Tool[] {
  const all = { ...services, platform: createPlatform({ app, tokens: services.tokens }) };
  return [
    ...createFileTools(all),
    ...createPipelineTools(all),
    ...createRunTools(all),
    createQueryTool(all),
    createCommitTool(all),
  ];
}

export const aiTools: Slice & ManifestUser = {
  name: 'ai-tools',
  // A version that a working copy began with.
  manifestUses: [
    `exists (select from ai_working_copy w where w.account_id = $account_id and w.manifest_digest = m.digest and w.state = 'OPEN')`,
  ],
};
