// The path of a member in an error, in either spelling: `tools.0.name` or `tools[0].name`.

export function segmentsOf(param: string): readonly string[] {
  return param.replace(/\[(\d+)\]/g, '.$1').split('.');
}
