/** Tags of projects: a name and a value, such as the cost center or the team that owns a project. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { ifMatchHeader, Name, ProjectId, pageOf, pageQuery, Uuid } from '../primitives.ts';
import { projectPath } from '../project/project.ts';

export const ProjectTagName = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: '^[\\w-]{1,128}$',
  'x-form': 'a name of letters, digits, _ and -, such as cost-center',
});

const ProjectTagValue = Type.String({ maxLength: 255 });

const projectTagPath = { ...projectPath, projectTagName: ProjectTagName };

export const ProjectTag = named(
  'ProjectTag',
  Type.Object({
    id: Uuid,
    name: ProjectTagName,
    value: ProjectTagValue,
  }),
);
export type ProjectTag = Static<typeof ProjectTag>;

const projectTagOperation = { surface: 'dpc', tag: 'Project tags' } as const;
const path = '/v1/projects/{projectId}/tags';
const onePath = `${path}/{projectTagName}` as const;

export const listProjectTags = operation({
  ...projectTagOperation,
  id: 'listProjectTags',
  method: 'GET',
  path,
  summary: 'List the tags of a project, by name',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(ProjectTag) },
  problems: [],
  events: [],
});

export const createProjectTag = operation({
  ...projectTagOperation,
  id: 'createProjectTag',
  method: 'POST',
  path,
  summary: 'Create a project tag',
  permission: 'project:configure',
  params: Type.Object(projectPath),
  body: Type.Object({ name: ProjectTagName, value: ProjectTagValue }),
  success: { status: 201, body: ProjectTag, headers: ['Location', 'ETag'] },
  problems: ['project-tag-name-taken'],
  events: ['project-tag-created'],
});

export const getProjectTag = operation({
  ...projectTagOperation,
  id: 'getProjectTag',
  method: 'GET',
  path: onePath,
  summary: 'Get a project tag',
  permission: 'project:read',
  params: Type.Object(projectTagPath),
  success: { status: 200, body: ProjectTag, headers: ['ETag'] },
  problems: ['project-tag-not-found'],
  events: [],
});

export const updateProjectTag = operation({
  ...projectTagOperation,
  id: 'updateProjectTag',
  method: 'PATCH',
  path: onePath,
  summary: 'Change the value of a project tag',
  permission: 'project:configure',
  params: Type.Object(projectTagPath),
  headers: ifMatchHeader,
  body: Type.Object({ value: ProjectTagValue }),
  success: { status: 200, body: ProjectTag, headers: ['ETag'] },
  problems: ['project-tag-not-found', 'etag-mismatch'],
  events: ['project-tag-updated'],
});

export const deleteProjectTag = operation({
  ...projectTagOperation,
  id: 'deleteProjectTag',
  method: 'DELETE',
  path: onePath,
  summary: 'Delete a project tag',
  permission: 'project:configure',
  params: Type.Object(projectTagPath),
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['project-tag-not-found', 'etag-mismatch'],
  events: ['project-tag-deleted'],
});

/** A tag with the project that it belongs to. */
export const TaggedProject = named(
  'TaggedProject',
  Type.Object({ projectId: ProjectId, projectName: Name, name: ProjectTagName, value: ProjectTagValue }),
);
export type TaggedProject = Static<typeof TaggedProject>;

export const findTaggedProjects = operation({
  ...projectTagOperation,
  id: 'findTaggedProjects',
  method: 'GET',
  path: '/v1/project-tags',
  summary: 'Find projects by a tag',
  description:
    'Contains the tags of this name in the projects in which the caller has a project role, by value and project name.',
  permission: 'projects:list',
  query: Type.Object({ name: ProjectTagName, value: Type.Optional(ProjectTagValue), ...pageQuery }),
  success: { status: 200, body: pageOf(TaggedProject) },
  problems: [],
  events: [],
});

export const projectTagOperations = [
  findTaggedProjects,
  listProjectTags,
  createProjectTag,
  getProjectTag,
  updateProjectTag,
  deleteProjectTag,
] as const;
