/** The pipelines that can be started in an environment: shapes.md, Published pipelines. */
import { type Static, Type } from 'typebox';
import { operation } from './operation.ts';
import { DateTime, EnvironmentName, pageOf, pageQuery } from './primitives.ts';
import { projectPath } from './project.ts';

export const PublishedPipeline = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 1_024, description: 'The path of its file' }),
  publishedTime: Type.Unsafe<string>({
    ...DateTime,
    description: 'When its version entered the environment',
  }),
});
export type PublishedPipeline = Static<typeof PublishedPipeline>;

export const listPublishedPipelines = operation({
  id: 'listPublishedPipelines',
  method: 'GET',
  path: '/v1/projects/{projectId}/published-pipelines',
  surface: 'dpc',
  tag: 'Artifacts',
  summary: 'List the pipelines that can be started in an environment, by name',
  description: 'Those of the newest enabled version there, which a start without `versionName` uses.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({ environmentName: EnvironmentName, ...pageQuery }),
  success: { status: 200, body: pageOf(PublishedPipeline) },
  problems: ['environment-not-found'],
  events: [],
});
