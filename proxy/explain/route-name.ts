// Finds the route that an operator names by its method and path.
import type { Config } from '../config/config.ts';
import { RouteTable } from '../turn/routes/route-table.ts';
import type { Route } from '../turn/turn.ts';

/** @param path a template of the route table, or a path that matches a template, with the words of `wire` */
export function routeNamed({ routes: rows, wire }: Pick<Config, 'routes' | 'wire'>, method: string, path: string): Route | undefined {
  const routes = new RouteTable(rows, wire);
  const template = routes.all.find((route) => route.method === method && route.template === path);
  if (template) return template;
  const found = routes.find(method, path);
  return found && 'route' in found ? found.route : undefined;
}
