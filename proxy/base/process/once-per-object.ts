// Values that are computed once for each object, such as what is compiled of a configuration. A value is kept as long as its object.

/** @param make called once for each object @returns the value that was made for an object */
export function oncePerObject<Of extends object, Value extends NonNullable<unknown>>(make: (object: Of) => Value): (object: Of) => Value {
  const made = new WeakMap<Of, Value>();
  return (object) => {
    const known = made.get(object);
    if (known !== undefined) return known;
    const value = make(object);
    made.set(object, value);
    return value;
  };
}
