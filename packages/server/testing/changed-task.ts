/** An AI task whose tools change files, and what a person does with the changes. */
import assert from 'node:assert/strict';
import type { AiTaskChanges } from '@headgate/contract';
import type { TestServer } from './open-server.ts';
import { smallPipeline } from './project.ts';
import { createToolScene, type ToolScene } from './tool-scene.ts';

export const files = {
  'main.orch.yaml': smallPipeline,
  'notes.md': 'one\ntwo\nthree\nfour\nfive\n',
  'old.txt': 'old\n',
};
export const noteOf = (text: string) => ({ path: 'notes.md', content: text });

/** @param hosted whether the project has a repository */
export async function createChangedTask(server: TestServer, hosted: boolean, task: object = {}) {
  const scene = await createToolScene(server, { files, hosted, task });
  const { account, project, taskId, call } = scene;
  const path = `/ai/agents/tasks/${taskId}`;
  const write = async (name: string, input: object) =>
    assert.equal((await call(name, input)).outcome, 'DONE', name);
  const changes = async () => (await account.admin.get<AiTaskChanges>(`${path}/changes`)).body;
  return {
    ...scene,
    path,
    write,
    changes,
    /** As a person who has just looked at the changes. */
    merge: async (body: object = {}) =>
      account.admin.post<{ commitId?: string; versionName?: string }>(`${path}/merge`, {
        digest: (await changes()).digest,
        ...body,
      }),
    discard: () => account.admin.post(`${path}/discard`),
    commitAsPerson: (inputs: object[], branch = 'main') =>
      account.admin.post(`${project.path}/repositories/commits`, { branch, message: 'other', files: inputs }),
  };
}

export async function readMain({ account, project }: ToolScene, path: string): Promise<string> {
  const url = `${project.path}/repositories/files/content?branch=main&path=${path}`;
  return (await account.admin.get<{ content: string }>(url)).body.content;
}
