Bonnx::Mul_237JHn>lъг»4‰%јR.юЅаbИј
=