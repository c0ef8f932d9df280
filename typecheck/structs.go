package typecheck

import "tilec/lang"

type structInfo struct{}

func (c *checker) structOf(m *module, d *lang.StructDecl) {}
func (c *checker) graphOf(m *module, d *lang.GraphDecl)   {}
func (c *checker) graphBody(m *module, d *lang.GraphDecl) {}
